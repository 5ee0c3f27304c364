import Decorum
import DecorumTesting
import Testing

/// The presets of the canonical stack pass the check.
@Suite struct StandardStackFindingsTests {
    private let transport = ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }
    private let user = Principal("user")

    private static func stacks(_ preset: StandardStack.Preset) -> [StandardStack] {
        var whole = StandardStack(preset, for: "https://a.example/")
        whole.callLog = .line
        whole.wireLog = .line
        whole.idempotencyKeys = true
        whole.requestIDs = true
        whole.languages = ["en"]
        whole.fields = [.accept: "*/*"]
        whole.caching = StandardStack.Caching()
        whole.coalescing = .standard
        whole.compression = .standard
        return [StandardStack(preset), StandardStack(preset, for: "https://a.example/"), whole]
    }

    @Test(arguments: StandardStack.Preset.allCases)
    func `A preset has no findings, with and without credentials`(preset: StandardStack.Preset) throws {
        for stack in Self.stacks(preset) {
            let plain = try stack.composed(over: transport)
            #expect(plain.findings.isEmpty, "\(plain.composition)")
            for credentials in [
                StandardStack.Authentication.with(try .bearer("t"), for: [site]),
                .with(.signer(VisibleSigner()), for: [site]), .from(CountingSource(), for: [site]),
            ] {
                let connection = try stack.composed(over: transport, authentication: credentials, principal: user)
                #expect(connection.composition.findings.isEmpty, "\(connection.composition)")
                #expect(connection.composition.unknownLayers.isEmpty)
            }
        }
    }

    @Test func `A source of several users with one principal is told of`() throws {
        let users = StandardStack.Authentication.from(CountingSource(servesOneUser: false), for: [site])
        let shared = try StandardStack().composed(over: transport, authentication: users, principal: user)
        #expect(shared.findings.map(\.hazard) == [.principalOfChangingUsers])
        let separate = try StandardStack().composed(over: transport, authentication: users)
        #expect(separate.findings.map(\.hazard) == [.principalMissing])
    }
}
