import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Pauses with a signal and a key of an app's own.
@Suite(.timeLimit(.minutes(3))) struct PacingKeyTests {
    private let clock = VirtualClock()

    private static let plain = PacingPolicy(longestWait: .zero)
    private static let own = PacingPolicy(
        longestWait: .zero, pausesByStatus: [.serviceUnavailable: .seconds(2), 529: .seconds(5), .forbidden: .zero])

    /// A connection whose first answer has a status, and whose others are good.
    private func pacing(_ policy: PacingPolicy, _ status: Int, retryAfter: String? = nil) -> some Connection {
        var answer = Response(status: .init(code: status))
        answer.head.headerFields[.retryAfter] = retryAfter
        return StubConnection(answers: [{ [answer] _ in answer }]) { _ in .ok }.pacing(policy, clock: clock)
    }

    /// The error about the pause that holds a request back; nil for one that is sent.
    private func pause(of request: Request, by connection: some Connection) async throws -> PacingError? {
        do { _ = try await connection.send(request) } catch let error as PacingError { return error }
        return nil
    }

    @Test(
        arguments: [
            (own, 503, nil, 2), (own, 529, nil, 5), (own, 529, "40", 40), (own, 503, "1", 1), (own, 403, nil, nil),
            (own, 403, "3", 3), (own, 429, nil, nil), (own, 500, nil, nil), (own, 200, nil, nil),
            (plain, 503, nil, nil), (plain, 529, "40", nil),
            (PacingPolicy(longestWait: .zero, pausesByStatus: [200: .seconds(5)]), 200, nil, nil),
            (PacingPolicy(longestWait: .zero, pausesByStatus: [500: .seconds(-1)]), 500, nil, nil),
        ] as [(PacingPolicy, Int, String?, Int?)])
    func `M44: A status begins a pause where no field names one`(
        policy: PacingPolicy, status: Int, retryAfter: String?, seconds: Int?
    ) async throws {
        let connection = pacing(policy, status, retryAfter: retryAfter)
        _ = try await connection.send(.page)
        let pause = try await pause(of: .page, by: connection)
        #expect(pause?.cause?.asked == seconds.map { .seconds($0) } && pause?.cause?.isRateLimit != true)
    }

    @Test(arguments: [(503, true), (529, false)])
    func `A pause of a status holds the origin back after a 503, and else the user`(
        status: Int, isOfOrigin: Bool
    ) async throws {
        let connection = pacing(Self.own, status)
        var request = try Request.page
        request.options.principal = Principal("one")
        _ = try await connection.send(request)
        request.options.principal = Principal("two")
        #expect(try await (pause(of: request, by: connection) != nil) == isOfOrigin)
    }

    @Test(arguments: [503, 429]) func `A key says which requests a pause holds back`(status: Int) async throws {
        let key = PacingKey("tenant") { request, _ in request.headerFields[.userAgent] }
        let connection = pacing(PacingPolicy(longestWait: .zero, key: key), status, retryAfter: "10")
        for (url, tenant, isHeld) in [
            ("https://a.example/one", "x", false), ("https://a.example/two", "x", true),
            ("https://a.example/one", "y", false), ("https://b.example/one", "x", false),
            ("https://a.example/", nil, false),
        ] {
            var request = try Request.get(url)
            request.head.headerFields[.userAgent] = tenant
            #expect(try await (pause(of: request, by: connection) != nil) == isHeld, "\(url) of \(tenant ?? "nobody")")
        }
        #expect(connection.layers.first?.description == "pacing(longestWait: 0.0 seconds, key: tenant)")
    }

    @Test func `A file holds the pauses, and no key`() throws {
        let text = #"{"pausesByStatus": {"503": 1, "529": 2.5}}"#
        let policy = try JSONDecoder().decode(PacingPolicy.self, from: Data(text.utf8))
        #expect(policy.pausesByStatus == [503: .seconds(1), 529: .milliseconds(2500)])
        #expect(try JSONDecoder().decode(PacingPolicy.self, from: JSONEncoder().encode(policy)) == policy)
        for wrong in [#"{"pausesByStatus": {"5": 1}}"#, #"{"pausesByStatus": {"x": 1}}"#, #"{"key": "tenant"}"#] {
            let data = Data(wrong.utf8)
            #expect(throws: StackSettingsError.self) { try JSONDecoder().decode(PacingPolicy.self, from: data) }
        }
        let keyed = PacingPolicy(key: PacingKey("tenant") { _, _ in nil })
        #expect(keyed != .standard && keyed == keyed)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(keyed) }
    }
}
