import Decorum
import DecorumConformance
import DecorumTesting
import HTTPTypes
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

@Test(arguments: DecoratorLaw.all)
func stampLaw(_ law: DecoratorLaw) async throws {
    let home = try Origin(DecoratorLaw.origin)
    try await law.check(adding: [.stamp]) { base in
        base.stamping(for: home) { "stamp of \($0.path ?? "")" }
    }
}
