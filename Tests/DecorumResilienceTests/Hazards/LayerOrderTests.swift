import Decorum
import DecorumTesting
import HTTPTypes
import Testing

/// Wrong orders of layers, which their declarations show, so that a check of a stack can find each of them.
@Suite struct LayerOrderTests {
    struct Hazard: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let wrong: @Sendable (StubConnection) throws -> any Connection
        /// Whether the layers of a stack, outermost first, show the hazard.
        let isShown: @Sendable (_ layers: [Layer]) -> Bool

        init(
            _ description: String, _ wrong: @escaping @Sendable (StubConnection) throws -> any Connection,
            isShown: @escaping @Sendable (_ layers: [Layer]) -> Bool
        ) {
            testDescription = description
            self.wrong = wrong
            self.isShown = isShown
        }
    }

    static let hazards = [
        Hazard(
            "all attempts have one signature", { signing($0.retrying()) },
            isShown: { layers in
                layers.contains(\.signs, outsideOf: \.resends)
            }),
        Hazard(
            "a redirected request has the signature of another URL", { signing($0.followingRedirects()) },
            isShown: {
                $0.contains(\.signs, outsideOf: \.resends)
            }),
        Hazard(
            "a signature gets old in a wait", { signing($0.pacing()) },
            isShown: {
                $0.contains(\.signs, outsideOf: \.waits)
            }),
        Hazard(
            "a signature does not cover what is added further in", { signing($0.addingRequestID()) },
            isShown: {
                $0.contains(\.signs, outsideOf: { $0.facts.contains(.changesSignedParts) })
            }),
        Hazard(
            "a credential is added for each origin to which a redirection leads", { adding($0).followingRedirects() },
            isShown: {
                $0.contains(
                    { $0.role == .redirection },
                    outsideOf: { $0.facts.contains(.addsCredentials) && !$0.facts.contains(.bindsToOrigins) })
            }),
        Hazard(
            "a cache over credentials serves nobody", { adding($0).caching(in: MemoryResponseStore()) },
            isShown: { layers in
                layers.contains({ $0.role == .caching }, outsideOf: { $0.facts.contains(.addsCredentials) })
                    && !layers.contains { $0.facts.contains(.setsPrincipal) }
            }),
        Hazard(
            "a log shows secrets", { $0.logging(to: LogSink { _ in }, redacting: .none) },
            isShown: { layers in
                layers.contains { $0.facts.contains(.records) && !$0.facts.contains(.redacts) }
            }),
        Hazard(
            "retries multiply", { $0.retrying().retrying() }, isShown: { $0.contains(\.retries, outsideOf: \.retries) }),
        Hazard(
            "retries begin again at the first URL", { $0.followingRedirects().retrying() },
            isShown: {
                $0.contains(\.retries, outsideOf: { $0.role == .redirection })
            }),
        Hazard(
            "a stored or invented answer hides failures from retries",
            { stub in
                stub.caching(in: MemoryResponseStore()).retrying()
            }, isShown: { $0.contains(\.retries, outsideOf: { $0.role == .caching }) }),
        Hazard(
            "retries never see a status that became an error", { $0.validatingStatus().retrying() },
            isShown: {
                $0.contains(\.decides, outsideOf: { $0.role == .validation })
            }),
        Hazard(
            "redirections are errors before they are followed", { $0.validatingStatus().followingRedirects() },
            isShown: {
                $0.contains(\.decides, outsideOf: { $0.role == .validation })
            }),
        Hazard(
            "each attempt has a key of its own", { $0.addingIdempotencyKey().retrying() },
            isShown: {
                $0.contains(\.retries, outsideOf: { $0.role == .preparation && $0.facts.contains(.variesPerSend) })
            }),
        Hazard(
            "attempts do not wait for the pause of a server", { $0.retrying().pacing() },
            isShown: {
                $0.contains({ $0.waits && !$0.resends }, outsideOf: \.retries)
            }),
        Hazard(
            "a cache keys by fields that are added further in",
            { stub in
                try stub.acceptingLanguages(["en"]).caching(in: MemoryResponseStore())
            }, isShown: { $0.contains({ $0.role == .caching }, outsideOf: \.changesHeads) }),
        Hazard(
            "a cache stores where a redirection led",
            { stub in
                stub.followingRedirects().caching(in: MemoryResponseStore())
            }, isShown: { $0.contains({ $0.role == .caching }, outsideOf: { $0.role == .redirection }) }),
        Hazard(
            "a cache stores what a layer made of the response",
            { stub in
                stub.intercepting(facts: [.changesResponse]) { try await $1.send($0) }.caching(
                    in: MemoryResponseStore())
            }, isShown: { $0.contains({ $0.role == .caching }, outsideOf: { $0.facts.contains(.changesResponse) }) }),
        Hazard(
            "a cache stores decoded content", { $0.decompressing().caching(in: MemoryResponseStore()) },
            isShown: {
                $0.contains({ $0.role == .caching }, outsideOf: { $0.facts.contains(.decodesContent) })
            }),
        Hazard(
            "a cache stores an answer that no server gave",
            { stub in
                stub.intercepting(facts: [.inventsAnswers]) { try await $1.send($0) }.caching(in: MemoryResponseStore())
            },
            isShown: { layers in
                layers.dropLast().contains(
                    { $0.role == .caching }, outsideOf: { $0.facts.contains(.inventsAnswers) })
            }),
        Hazard(
            "attempts are not seen", { $0.retrying().observing { _ in } },
            isShown: { layers in
                !layers.contains(\.retries, outsideOf: { $0.role == .observation })
            }),
        Hazard(
            "the calls are not seen", { $0.observing { _ in }.retrying() },
            isShown: { layers in
                !layers.contains({ $0.role == .observation }, outsideOf: \.retries)
            }),
        Hazard(
            "one state is used twice in a stack",
            { stub in
                let store = MemoryResponseStore()
                return stub.caching(in: store).caching(in: store)
            },
            isShown: { layers in
                let states = layers.flatMap { Array($0.sharedState) }
                return Set(states).count < states.count
            }),
    ]

    @Test(arguments: hazards)
    func `The layers show the hazard, and those of a good stack do not`(hazard: Hazard) throws {
        let stub = StubConnection()
        let wrong = try hazard.wrong(stub)
        #expect(hazard.isShown(wrong.layers))
        let good = try Self.goodStack()
        #expect(!hazard.isShown(good.layers))
    }

    private static func goodStack() throws -> any Connection {
        try adding(StubConnection(), facts: [.addsCredentials, .bindsToOrigins, .signs])
            .logging(to: LogSink { _ in })
            .compressing()
            .observing(as: .attempt) { _ in }
            .limitingTime(as: .attempt)
            .pacing()
            .retrying()
            .caching(in: MemoryResponseStore())
            .decompressing()
            .followingRedirects()
            .acceptingLanguages(["en"])
            .acting(for: Principal("user"))
            .addingRequestID()
            .addingIdempotencyKey()
            .limitingTime()
            .observing { _ in }
            .validatingStatus()
    }

    private static func signing(_ base: some Connection) -> any Connection { adding(base, facts: [.signs]) }

    private static func adding(
        _ base: some Connection, facts: Set<Layer.Fact> = [.addsCredentials]
    ) -> some Connection {
        base.intercepting(facts: facts, secretFields: [.authorization]) { try await $1.send($0) }
    }
}

extension Layer {
    fileprivate var signs: Bool { facts.contains(.signs) }
    fileprivate var resends: Bool { facts.contains(.resends) && role != .transport }
    fileprivate var waits: Bool { facts.contains(.waits) && role != .transport }
    fileprivate var retries: Bool { role == .resilience && resends }
    /// Whether the layer decides by the status of a response.
    fileprivate var decides: Bool { retries || role == .redirection || role == .caching }
    /// Whether the layer changes fields by which a response may vary.
    fileprivate var changesHeads: Bool {
        role == .preparation && facts.contains(.changesSignedParts) && !facts.contains(.changesContent)
    }
}

extension Collection<Layer> {
    /// Whether a layer stands outside of another.
    fileprivate func contains(_ isOuter: (Layer) -> Bool, outsideOf isInner: (Layer) -> Bool) -> Bool {
        indices.contains { index in isOuter(self[index]) && self[index...].dropFirst().contains(where: isInner) }
    }
}
