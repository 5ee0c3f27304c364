import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Rules that refuse unsafe methods hold in each mode that may send a request, also where the file exists.
@Suite(.timeLimit(.minutes(3))) struct UnsafeRequestTests {
    let folder: TemporaryFolder
    let stub = StubConnection { _ in Response(status: .ok, body: "live") }

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://example.com/"}, "response": {"status": 200, "text": "recorded"}},
            {"request": {"method": "PUT", "url": "https://example.com/a"}, "response": {"status": 200, "text": "recorded"}}]}
            """, to: "a.json")
    }

    private var rules: CassetteRules {
        var rules = CassetteRules(unused: .allow)
        rules.refusesUnsafeMethods = true
        return rules
    }

    private func expectRefusal(_ method: HTTPRequest.Method, _ mode: CassetteMode, rules: CassetteRules) async throws {
        let before = try folder.text("a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
        let connection = CassetteConnection(cassette, recording: stub)
        let error = await #expect(throws: UnsafeRequestError.self) {
            try await connection.send(Request(method, "https://example.com/orders?token=abc123456", body: "x"))
        }
        #expect(error?.request == "\(method.rawValue) https://example.com/orders?token=__secret__")
        #expect(stub.requests.isEmpty)
        _ = try await connection.send(.get("https://example.com/"))
        // The code between hides the error from the test, and not from the cassette.
        await #expect(throws: UnsafeRequestError.self) { try await cassette.finish() }
        #expect(!stub.requests.contains { $0.head.method == method })
        #expect(try folder.text("a.json") == before)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete])
    func `Verifying sends no request that may change the server`(method: HTTPRequest.Method) async throws {
        try await expectRefusal(method, .verify, rules: rules)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete])
    func `In replay, a live host gets no request that may change it`(method: HTTPRequest.Method) async throws {
        var rules = rules
        rules.liveHosts = ["example.com"]
        try await expectRefusal(method, .replay, rules: rules)
    }

    @Test func `Verifying does not send a recorded request with such a method either`() async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: .verify, rules: rules)
        await #expect(throws: UnsafeRequestError.self) {
            try await CassetteConnection(cassette, recording: stub).send(Request(.put, "https://example.com/a"))
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `In replay, a live host is asked with a safe method, and a recorded request is played`() async throws {
        var rules = rules
        rules.liveHosts = ["example.com"]
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules)
        let connection = CassetteConnection(cassette, recording: stub)
        let played = try await connection.send(Request(.put, "https://example.com/a"))
        #expect(try await played.body.text(upTo: 100) == "recorded")
        let sent = try await connection.send(.get("https://example.com/new"))
        #expect(try await sent.body.text(upTo: 100) == "live")
        #expect(stub.requests.map(\.head.method) == [.get])
        try await cassette.finish()
    }

    @Test(arguments: [CassetteMode.verify, .replay, .append])
    func `A passed host gets each request`(mode: CassetteMode) async throws {
        var rules = rules
        rules.passedHosts = ["metrics.example.com"]
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
        let connection = CassetteConnection(cassette, recording: stub)
        _ = try await connection.send(.post("https://metrics.example.com/", body: "x"))
        #expect(stub.requests.map(\.head.method) == [.post])
        try await cassette.finish()
    }
}
