import DecorumAuthentication
import DecorumConformance
import DecorumTesting
import HTTPTypes
import Testing

/// The laws that every decorator keeps.
@Suite(.timeLimit(.minutes(5))) struct DecoratorLawTests {
    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No exchange rejects a token."))
    func `The layer of tokens keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check(adding: [.authorization]) { base, conditions in
            let tokens = Tokens(
                in: MemoryTokenStore(try Token("law")), from: RotatingServer(clock: conditions.clock),
                clock: conditions.clock)
            return base.authenticating(with: tokens, for: try Origin(DecoratorLaw.origin))
        }
    }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No exchange has a challenge."))
    func `The layer that answers challenges keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base in
            base.answeringChallenges(with: [DecliningHandler()], for: [try Origin(DecoratorLaw.origin)])
        }
    }

    @Test(arguments: DecoratorLaw.all)
    func `The layer that ends requests keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base in base.ending(with: RequestsUnderWay()) }
    }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "The principal is set outside of it."))
    func `The layer that ends requests keeps the laws for a user too`(law: DecoratorLaw) async throws {
        try await law.check { base in base.ending(with: RequestsUnderWay()).acting(for: Principal("law")) }
    }
}

private struct DecliningHandler: ChallengeHandler {
    func answer(_ request: ChallengedRequest) async throws -> Credentials? { nil }
}
