import Decorum
import DecorumConformance
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let stamp = HTTPField.Name("X-Stamp")!
}

struct TimingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let report: @Sendable (Duration) -> Void

    func send(_ request: consuming Request) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await base.send(request)
        report(.now - start)
        return response
    }
}

struct StampConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let binding: CredentialBinding
    let stamp: @Sendable (HTTPRequest) -> String

    var layer: Layer {
        Layer(
            name: "stamping", role: .authentication, settings: [binding.setting],
            facts: binding.facts.union([.changesSignedParts]), secretFields: [.stamp])
    }

    func send(_ request: consuming Request) async throws -> Response {
        request.options.secretFields.insert(.stamp)
        if let reason = binding.reasonToSkip(request, secretFields: [.stamp]) {
            return try await base.sendUnchanged(request, because: reason, by: "stamping")
        }
        request.head.headerFields[.stamp] = stamp(request.head)
        return try await base.send(request)
    }
}

extension Connection {
    func stamping(for origins: Origin..., by stamp: @escaping @Sendable (HTTPRequest) -> String) -> some Connection {
        StampConnection(base: self, binding: CredentialBinding(origins: Set(origins)), stamp: stamp)
    }
}

/// The small decorators of README and of “Writing a decorator”.
@Suite struct OwnLayerListings {
    @Test func timing() async throws {
        let count = Mutex(0)
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = TimingConnection(base: stub) { _ in count.withLock { $0 += 1 } }
        _ = try await connection.send(.get("https://example.com/"))
        #expect(count.withLock { $0 } == 1)
    }

    @Test func stamping() async throws {
        let stub = StubConnection { request in
            request.head.path == "/leave"
                ? Response(status: .found, fields: [.location: "https://other.example/"])
                : Response(status: .forbidden)
        }
        let connection = try stub.stamping(for: Origin("https://example.com")) { "of \($0.path ?? "")" }
            .followingRedirects()
        let context = CallContext(keepingHistory: 10)
        var request = try Request.get("https://example.com/leave")
        request.options.callContext = context
        let response = try await connection.send(request)
        #expect(stub.requests.map { $0.head.headerFields[.stamp] } == ["of /leave", nil])
        #expect(response.metadata.lacksCredentials)
        #expect("\(context.history)".contains("stamping"))

        request = try .get("https://example.com/", fields: [.stamp: "the caller's"])
        _ = try await connection.send(request)
        #expect(stub.requests.last?.head.headerFields[.stamp] == "the caller's")
        #expect(connection.findings.isEmpty)
    }

    @Test(arguments: DecoratorLaw.all)
    func stampLaw(_ law: DecoratorLaw) async throws {
        let home = try Origin(DecoratorLaw.origin)
        try await law.check(adding: [.stamp]) { base in
            base.stamping(for: home) { "stamp of \($0.path ?? "")" }
        }
    }
}
