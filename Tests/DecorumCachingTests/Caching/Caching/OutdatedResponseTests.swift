import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Responses that are removed or replaced while they are being stored.
@Suite(.timeLimit(.minutes(3))) struct OutdatedResponseTests {
    let store = SlowResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    private func cache(_ base: some Connection, in store: SlowResponseStore? = nil) -> some Connection {
        base.caching(in: store ?? self.store, clock: clock, spawner: spawner)
    }

    private static func page(_ text: String = "page") -> Response {
        Response(status: .ok, fields: [.cacheControl: "max-age=60", .eTag: "\"\(text)\""], body: Body(text))
    }

    private static let notModified = Response(
        status: .notModified, fields: [.cacheControl: "max-age=60", .eTag: #""page""#])

    private func request(_ method: HTTPRequest.Method = .get) throws -> Request {
        try Request(method, "https://example.com/page")
    }

    enum Storing: CaseIterable {
        case atOnce, streamed, confirmed, copied, updated
    }

    enum Forgetting: CaseIterable {
        case change, signOut
    }

    @Test(arguments: Storing.allCases, Forgetting.allCases)
    func `A response removed while it is being stored stays removed`(
        storing: Storing, forgetting: Forgetting
    ) async throws {
        let stub = StubConnection { request in
            switch request.head.method {
            case .put: Response(status: .noContent)
            case .head: Response(status: .ok, fields: Self.page().head.headerFields)
            case _ where request.head.headerFields.contains(.ifNoneMatch): Self.notModified
            case _ where storing == .streamed:
                Response(status: .ok, fields: Self.page().head.headerFields, body: GatedTransfer.open.body(chunks: 3))
            default: Self.page()
            }
        }
        let store = SlowResponseStore(isLarge: storing == .copied)
        let connection = cache(stub, in: store)
        if storing != .atOnce, storing != .streamed {
            store.gate.open()
            _ = try await connection.send(request())
            store.gate.close()
            clock.advance(by: .seconds(61))
        }
        let request = try request(storing == .updated ? .head : .get)
        let callers = await Callers.start { _ in try await connection.send(request).body.data(upTo: 3000).count }
        try await store.gate.waitForWaiting(1)

        switch forgetting {
        case .change: _ = try await connection.send(self.request(.put))
        case .signOut: await store.removeResponses(of: nil)
        }
        store.gate.open()

        _ = try await callers[0].value
        try await spawner.finished()
        #expect(store.count == 0)
    }

    @Test(arguments: [true, false])
    func `A response that is read slowly does not replace a later one`(isBegun: Bool) async throws {
        let slow = GatedTransfer()
        let old = Response(status: .ok, fields: Self.page().head.headerFields, body: slow.body(chunks: 1))
        let other = Response(
            status: .ok, fields: [.cacheControl: "max-age=60", .vary: "Accept"],
            body: GatedTransfer.open.body(chunks: 2))
        store.gate.open()
        let connection = cache(StubConnection(old, Self.page("new"), other))

        var reader = try await connection.send(request()).body.makeAsyncIterator()
        slow.gate.admit()
        if isBegun { _ = try await reader.next() }
        var reload = try request()
        reload.options.cacheUse = .reload
        #expect(try await connection.send(reload).body == "new")
        let stored = try await connection.send(.get("https://example.com/other", fields: [.accept: "a"]))
        slow.gate.open()
        while try await reader.next() != nil {}

        #expect(try await connection.send(request()).body == "new")
        _ = try await stored.body.data(upTo: 3000)
        #expect(store.count == 2)
    }

    @Test(arguments: [
        "Cache-Control: no-store", "Cache-Control: max-age=60", "Cache-Control: max-age=60 | Vary: *",
    ])
    func `A slow response to an earlier request removes no response to a later one`(fields: String) async throws {
        let gate = Gate()
        let stub = StubConnection(answers: [
            { _ in Self.page("old") },
            { _ in
                try await gate.wait()
                return Response(status: .ok, fields: HTTPFields(lines: fields), body: "slow")
            },
        ]) { _ in Self.page("new") }
        store.gate.open()
        let connection = cache(stub)
        _ = try await connection.send(request())
        var reload = try request()
        reload.options.cacheUse = .reload
        let slow = await Callers.start { [reload] _ in try await connection.send(reload).body.text(upTo: 10) }
        try await gate.waitForWaiting(1)
        #expect(try await connection.send(reload).body == "new")
        gate.open()
        #expect(try await slow[0].value == "slow")
        #expect(try await connection.send(request()).body == "new")
        #expect(store.count == 1)
    }

    @Test func `A stale response that was removed is not used instead of an error`() async throws {
        let gate = Gate()
        let stub = StubConnection(answers: [{ _ in Self.page() }]) { _ in
            try await gate.wait()
            throw TransportError(.unreachable, at: .connecting)
        }
        store.gate.open()
        let connection = cache(stub)
        _ = try await connection.send(request())
        clock.advance(by: .seconds(61))
        let request = try request()
        let caller = await Callers.start { _ in try await connection.send(request).status }
        try await gate.waitForWaiting(1)
        await store.removeResponses(of: nil)
        gate.open()
        await #expect(throws: TransportError.self) { try await caller[0].value }
    }

    @Test func `Variants that are read at the same time are all stored`() async throws {
        let slow = GatedTransfer()
        store.gate.open()
        let connection = cache(
            StubConnection { request in
                let isSlow = request.head.headerFields[.accept] == "a"
                return Response(
                    status: .ok, fields: [.cacheControl: "max-age=60", .vary: "Accept"],
                    body: (isSlow ? slow : GatedTransfer.open).body(chunks: 2))
            })
        let request = try Request.get("https://example.com/page", fields: [.accept: "a"])
        let callers = await Callers.start { _ in try await connection.send(request).body.data(upTo: 3000).count }
        try await slow.gate.waitForWaiting(1)
        _ = try await connection.send(.get("https://example.com/page", fields: [.accept: "b"])).body.data(upTo: 3000)
        slow.gate.open()
        #expect(try await callers[0].value == 2000)
        #expect(store.count == 2)
    }
}

/// A store in memory that waits at a gate before it stores a response.
final class SlowResponseStore: ResponseStore {
    let gate = Gate()
    private let base = MemoryResponseStore()
    private let isLarge: Bool

    /// Creates an empty store; with `isLarge`, it returns bodies that are read as from a file.
    init(isLarge: Bool = false) {
        self.isLarge = isLarge
    }

    var count: Int { base.count }
    var bodyLimit: Int { base.bodyLimit }

    func responses(for key: ResponseKey) async -> [StoredResponse] {
        let responses = base.responses(for: key)
        guard isLarge else { return responses }
        return responses.map { response in
            var response = response
            let content = response.body
            response.body = Body(length: content.length, replay: .fromAnyOffset) { try await content.open(at: $0) }
            return response
        }
    }

    func ticket(for key: ResponseKey) -> StoreTicket { base.ticket(for: key) }

    func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) async -> Bool {
        var response = response
        guard (try? await gate.wait()) != nil, let content = try? await response.body.data(upTo: bodyLimit) else {
            return false
        }
        response.body = Body(content)
        return base.store(response, for: key, with: ticket)
    }

    func removeResponses(for key: ResponseKey) async { base.removeResponses(for: key) }
    func removeResponses(for key: ResponseKey, before ticket: StoreTicket) async {
        await base.removeResponses(for: key, before: ticket)
    }
    func removeResponses(at uri: ResponseKey.URI) async { base.removeResponses(at: uri) }
    func removeResponses(of principal: Principal?) async { base.removeResponses(of: principal) }
    func removeAllResponses() async { base.removeAllResponses() }
}
