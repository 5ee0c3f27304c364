import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Pauses with a signal and a key of an app's own.
@Suite(.timeLimit(.minutes(3))) struct PacingKeyTests {
    private let clock = VirtualClock()

    private static let own = PacingPolicy(
        longestWait: .zero, pausesByStatus: [.serviceUnavailable: .seconds(2), 529: .seconds(5), .forbidden: .zero])

    @Test(
        arguments: [
            (own, 503, nil, 2), (own, 529, nil, 5), (own, 529, "40", 40), (own, 503, "1", 1), (own, 403, nil, nil),
            (own, 403, "3", 3), (own, 429, nil, nil), (own, 500, nil, nil), (own, 200, nil, nil),
            (PacingPolicy(longestWait: .zero), 503, nil, nil), (PacingPolicy(longestWait: .zero), 529, "40", nil),
            (PacingPolicy(longestWait: .zero, pausesByStatus: [200: .seconds(5)]), 200, nil, nil),
            (PacingPolicy(longestWait: .zero, pausesByStatus: [500: .seconds(-1)]), 500, nil, nil),
        ] as [(PacingPolicy, Int, String?, Int?)])
    func `A status begins a pause where no field names one`(
        policy: PacingPolicy, status: Int, retryAfter: String?, seconds: Int?
    ) async throws {
        var answer = Response(status: .init(code: status))
        answer.head.headerFields[.retryAfter] = retryAfter
        let stub = StubConnection(answer, Response(status: .ok))
        let connection = stub.pacing(policy, clock: clock)
        _ = try await connection.send(.page)
        guard let seconds else {
            _ = try await connection.send(.page)
            return
        }
        let error = await #expect(throws: PacingError.self) { try await connection.send(.page) }
        #expect(error?.cause?.asked == .seconds(seconds) && error?.cause?.isRateLimit == false)
    }

    @Test(arguments: [(503, true), (529, false)])
    func `A pause of a status holds the origin back after a 503, and else the user`(
        status: Int, isOfOrigin: Bool
    ) async throws {
        let stub = StubConnection(Response(status: .init(code: status)), Response(status: .ok))
        let connection = stub.pacing(Self.own, clock: clock)
        var other = try Request.page
        other.options.principal = Principal("one")
        _ = try await connection.send(other)
        other.options.principal = Principal("two")
        if isOfOrigin {
            await #expect(throws: PacingError.self) { try await connection.send(other) }
        } else {
            _ = try await connection.send(other)
        }
    }

    @Test(arguments: [503, 429]) func `A key says which requests a pause holds back`(status: Int) async throws {
        let policy = PacingPolicy(
            longestWait: .zero, key: PacingKey("tenant") { request, _ in request.headerFields[.userAgent] })
        let stub = StubConnection(answers: [
            { _ in
                Response(status: .init(code: status), fields: [.retryAfter: "10"])
            }
        ]) { _ in Response(status: .ok) }
        let connection = stub.pacing(policy, clock: clock)
        _ = try await connection.send(.get("https://a.example/one", fields: [.userAgent: "x"]))

        let held = try Request.get("https://a.example/two", fields: [.userAgent: "x"])
        await #expect(throws: PacingError.self) { try await connection.send(held) }
        for (url, tenant) in [
            ("https://a.example/one", "y"), ("https://b.example/one", "x"), ("https://a.example/", nil),
        ] {
            var request = try Request.get(url)
            request.head.headerFields[.userAgent] = tenant
            _ = try await connection.send(request)
        }
        #expect(connection.layers.first?.description == "pacing(longestWait: 0.0 seconds, key: tenant)")
    }

    @Test func `A file holds the pauses, and no key`() throws {
        let text = #"{"pausesByStatus": {"503": 1, "529": 2.5}}"#
        let policy = try JSONDecoder().decode(PacingPolicy.self, from: Data(text.utf8))
        #expect(policy.pausesByStatus == [503: .seconds(1), 529: .milliseconds(2500)])
        #expect(try JSONDecoder().decode(PacingPolicy.self, from: JSONEncoder().encode(policy)) == policy)
        for wrong in [#"{"pausesByStatus": {"5": 1}}"#, #"{"pausesByStatus": {"x": 1}}"#, #"{"key": "tenant"}"#] {
            #expect(throws: StackSettingsError.self) {
                try JSONDecoder().decode(PacingPolicy.self, from: Data(wrong.utf8))
            }
        }
        let keyed = PacingPolicy(key: PacingKey("tenant") { _, _ in nil })
        #expect(keyed != PacingPolicy.standard && keyed == keyed)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(keyed) }
    }
}
