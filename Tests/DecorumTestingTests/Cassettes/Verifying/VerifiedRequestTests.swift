import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The recordings that verifying finds for the requests of a run, in whatever order they come.
@Suite(.timeLimit(.minutes(3))) struct VerifiedRequestTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// A server at an address of numbers, whose items have identifiers of a run, a price and a date.
    private func server(_ run: String, day: Int) -> StubConnection {
        let prices = Mutex<[String: Int]>([:])
        return StubConnection { request in
            let path = request.head.path ?? ""
            let isNew = request.head.method == .post
            let name = isNew ? "\(run)-\(prices.withLock { $0.count })" : String(path.dropFirst("/items/".count))
            let price = prices.withLock { prices in
                prices[name, default: 0] += request.head.method == .get ? 0 : 1
                return prices[name, default: 0]
            }
            return TestRecorder.json(#"{"uuid":"\#(name)","price":\#(price),"changed":"2026-11-0\#(day + price)"}"#)
        }
    }

    private func run(_ mode: CassetteMode, _ run: String, day: Int, readingFirst: Bool) async throws {
        let cassette = try recorder.cassette(mode)
        let connection = CassetteConnection(cassette, recording: server(run, day: day))
        let base = "http://127.0.0.1:8080/items"
        for _ in 0..<2 { _ = try await connection.send(.post(base, body: "{}")) }
        let items = (0..<2).map { "\(base)/\(run)-\($0)" }
        if readingFirst { _ = try await connection.send(.get(items[0])) }
        let price = Body(#"{"price":2}"#)
        _ = try await connection.send(
            .patch(items[0], fields: [.contentType: "application/json"], body: price))
        if !readingFirst { _ = try await connection.send(.get(items[0])) }
        for item in items { _ = try await connection.send(.delete(item)) }
        try await cassette.finish()
    }

    @Test func `Requests in another order are the recorded ones`() async throws {
        try await run(.once, "a1b2c3d4", day: 1, readingFirst: false)
        try await run(.verify, "e5f6a7b8", day: 1, readingFirst: false)
        try await run(.verify, "e5f6a7b8", day: 4, readingFirst: true)
    }

    @Test(arguments: [("page", false), ("itemId", true), ("orderNumber", true), ("self", true)])
    func `A short value is an identifier only where its place says so`(name: String, isIdentifier: Bool) async throws {
        @Sendable func value(_ number: Int) -> String { name == "self" ? #""/items/\#(number)""# : "\(number)" }
        func requests(_ number: Int) throws -> [Request] {
            try ["/latest", "/items?after=\(number)"].map { try .get("https://example.com" + $0) }
        }
        _ = try await recorder.run(.once, requests(17)) { _ in TestRecorder.json(#"{"\#(name)":\#(value(17))}"#) }
        let live: @Sendable (Request) -> Response = { _ in TestRecorder.json(#"{"\#(name)":\#(value(23))}"#) }
        guard !isIdentifier else {
            _ = try await recorder.run(.verify, requests(23), answer: live)
            return
        }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, requests(23), answer: live)
        }
        #expect(error?.drifts.first?.changes.first == "is not recorded")
    }

    @Test func `A request without a recording is told with the nearest one and the answer that led to it`() async throws
    {
        let first = try Request.get("https://example.com/start")
        _ = try await recorder.run(.once, [first, .get("https://example.com/items?page=1")]) { _ in
            TestRecorder.json("{}")
        }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, [first, .get("https://example.com/v2/items?page=1")]) { request in
                request.head.path == "/start"
                    ? Response(
                        status: .ok, fields: [.contentType: "application/json", .location: "/v2/items?page=1"],
                        body: "{}")
                    : TestRecorder.json("{}")
            }
        }
        let line = try #require(
            recorder.folder.text("feed.json").split(separator: "\n").firstIndex { $0.contains("page=1") })
        #expect(
            error?.drifts.first?.changes == [
                "is not recorded", "nearest recording  GET https://example.com/items?page=1  (line \(line - 2))",
                "the `Location` in the answer to GET https://example.com/start led there",
            ])
    }
}
