import Decorum
import DecorumCookies
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// A stack in any order is mended by the moves that its findings name, and by nothing else.
@Suite struct MendingTests {
    private typealias Modifier = @Sendable (_ base: any Connection) throws -> any Connection

    /// The layers of a whole stack.
    private static let modifiers: [Modifier] = [
        { $0.validatingStatus() }, { $0.observing { _ in } }, { $0.limitingTime() },
        { $0.acting(for: Principal("user")) },
        { try $0.resolving(against: "https://a.example/") }, { $0.addingRequestID() }, { $0.addingIdempotencyKey() },
        { try $0.acceptingLanguages(["en"]) }, { $0.followingRedirects() }, { $0.decompressing() },
        { $0.upgradingToHTTPS(remembering: StrictTransportHosts()) }, { $0.keepingCookies(in: CookieJar()) },
        { $0.caching(in: MemoryResponseStore()) }, { $0.coalescing() }, { $0.retrying() }, { $0.pacing() },
        { $0.limitingTime(as: .attempt) }, { $0.compressing() },
        { $0.authenticating(with: .signer(VisibleSigner()), for: site) },
        { $0.logging(to: LogSink { _ in }, detail: .fields) },
        { $0.declaring("limiting", [.limitsRequests], time: .init(waiting: .atMost(.seconds(9)))) },
        { $0.declaring("breakingCircuits", [.breaksCircuits, .refuses, .readsStatus]) },
        { $0.declaring("hedging", [.hedges, .readsStatus], sending: .init(1...2)) },
        { $0.declaring("fallingBack", [.fallsBack, .changesSignedParts], role: .other, sending: .init(1...2)) },
    ]

    /// Numbers that are the same in each run.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    /// Composes a stack of modifiers, outermost first.
    private static func compose(_ modifiers: [Modifier]) throws -> any Connection {
        let transport: any Connection = ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }
        return try modifiers.reversed().reduce(transport) { base, modifier in try modifier(base) }
    }

    /// The modifiers with the layer of a finding at its new place.
    private static func moved(_ modifiers: [Modifier], by finding: Finding) -> [Modifier] {
        guard let place = finding.places.first, let move = finding.move else { return modifiers }
        var modifiers = modifiers
        let modifier = modifiers.remove(at: place.number - 1)
        switch move {
        case .inside(let other): modifiers.insert(modifier, at: other.number - (other.number > place.number ? 1 : 0))
        case .outside(let other): modifiers.insert(modifier, at: other.number - 1)
        }
        return modifiers
    }

    @Test func `A stack in any order is mended from its findings alone`() async throws {
        var dice = Dice(state: 42)
        var most = 0
        for number in 1...(Footprint.isSoak ? 300 : 20) {
            // Tests beside this one wait for answers on the same threads.
            await Task.yield()
            let shuffled = Self.modifiers.shuffled(using: &dice)
            var modifiers = shuffled
            var moves = 0
            while let finding = try Self.compose(modifiers).findings.first(where: { $0.move != nil }), moves < 100 {
                modifiers = Self.moved(modifiers, by: finding)
                moves += 1
            }
            most = max(most, moves)
            let mended = try Self.compose(modifiers)
            let first = try Self.compose(shuffled)
            try #require(
                // The calls may be observed beside the attempts; no layer has to move for it.
                mended.findings.allSatisfy { $0.hazard == "callsUnseen" },
                "Stack \(number), after \(moves) moves: \(mended.composition), of \(first.composition)")
        }
        #expect(most > 5 && most < 60, "\(most) moves")
    }
}
