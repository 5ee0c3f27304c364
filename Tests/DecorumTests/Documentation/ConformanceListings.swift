import Decorum
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct DecoratorLawListings {
    @Test(arguments: DecoratorLaw.all)
    func law(_ law: DecoratorLaw) async throws {
        try await law.check { base in base.counting() }
    }
}

@Suite(.timeLimit(.minutes(1))) struct ExcludedLawListings {
    @Test(arguments: DecoratorLaw.all.excluding(.statuses, because: "it makes errors of them"))
    func law(_ law: DecoratorLaw) async throws {
        try await law.check { $0.validatingStatus() }
    }
}

private func transportCases() async throws {
    for rule in TransportCase.all.excluding(.responseTrailers, because: "The platform drops them.") {
        try await rule.check { conditions in MyConnection(clock: conditions.clock) }
    }
}

private func secureTransportCases() async throws {
    for rule in TransportCase.all {
        try await rule.check { conditions in
            MyConnection(trusting: conditions.root, showing: conditions.identity, clock: conditions.clock)
        }
    }
}

@Test func `What is excluded is left out of the rules`() {
    let rules = TransportCase.all
        .excluding(.trustedServer, .clientCertificate, because: "The system's certificates decide.")
        .excluding(TransportCase.http2, because: "The transport speaks HTTP/1.1.")
    #expect(rules.exclusions.count == 2 + TransportCase.http2.count)
    #expect(Set(rules).isDisjoint(with: TransportCase.http2))
}

private struct MyConnection: Connection {
    private let base: URLSessionConnection

    init(trusting root: URL? = nil, showing identity: TransportConditions.Identity? = nil, clock: any DatedClock) {
        base = URLSessionConnection(clock: clock)
    }

    var layers: [Layer] { base.layers }

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}

extension Connection {
    fileprivate func counting() -> some Connection { CountingConnection(base: self) }
}

private struct CountingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    private let count = Counter()

    init(base: Base) {
        self.base = base
    }

    func send(_ request: consuming Request) async throws -> Response {
        count.requests.add(1, ordering: .relaxed)
        return try await base.send(request)
    }
}

private final class Counter: Sendable {
    let requests = Atomic(0)
}
