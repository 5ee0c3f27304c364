import Decorum
import DecorumTesting
import DecorumTestingTraits
import Testing

@Suite struct CheckingListings {
    private let api = try? Origin("https://api.example.com")

    private struct Signer: RequestSigner {
        let secretFields: Set<HTTPField.Name> = [.authorization]

        func sign(_ request: Request) -> Request { request }
    }

    @Test func wrongStack() throws {
        let signer = Signer()
        let api = try #require(api)
        let connection = SystemConnection()
            .retrying()
            .authenticating(with: .signer(signer), for: api)
            .validatingStatus()
            .followingRedirects()
        print(connection)

        #expect(
            connection.findings.map(\.hazard) == ["signatureOutsideOfRetries", "statusErrorTooEarly", "unlimitedCall"])
        #expect(
            connection.description.hasPrefix(
                """
                error        1 followingRedirects(upTo: 20, policy: standard)
                error        2 validatingStatus(accepted: 2xx, 304)
                error        3 authenticating(with: signer, for: https://api.example.com)
                error        4 retrying(retries: 3)
                """))
    }

    @Test func checkedStack() throws {
        let (api, token) = (try #require(api), "token")
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: api)
            .retrying()
            .followingRedirects()
            .checked(refusing: .warning, accepting: ["unlimitedCall": "The job that calls has a deadline."])
        #expect(connection.layers.count == 4)
    }

    @Test func checkedStackOfTheModifier() throws {
        let (api, token) = (try #require(api), "token")
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: api)
            .retrying()
            .followingRedirects()
            .limitingTime()
            .checked()
        for finding in connection.findings { print(finding) }
        // error, signatureOutsideOfRetries, layers 1 and 2: …
        #expect(connection.findings.isEmpty)
    }

    @Test func explainedStack() {
        let connection = StubConnection().retrying(clock: ImpatientClock())
        print(connection.explain())
        #expect(connection.findings.map(\.hazard) == ["unlimitedCall"])
    }

    @Test func closure() {
        let (mirror, server) = (StubConnection().retrying(), StubConnection())
        let connection = ClosureConnection(
            choosingFrom: [.init("mirror", mirror.layers), .init("server", server.layers)]
        ) { request in
            request.head.method == .get ? try await mirror.send(request) : try await server.send(request)
        }
        #expect(connection.composition.unknownLayers.isEmpty)
    }

    @Test func `The stack is sound`() throws {
        try requireNoFindings(in: appStack(over: StubConnection(), clock: VirtualClock()))
    }
}

@Suite struct ExpectingListings {
    @Test func `The stack is sound`() {
        expectNoFindings(in: appStack(over: StubConnection(), clock: VirtualClock()))
    }
}

private func appStack(over transport: some Connection, clock: any DatedClock) -> some Connection {
    transport.retrying(clock: clock).limitingTime(clock: clock)
}
