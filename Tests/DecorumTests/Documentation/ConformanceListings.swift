import Decorum
import DecorumTesting
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
        try await rule.check { clock in MyConnection(clock: clock) }
    }
}

private typealias MyConnection = URLSessionConnection

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
