import Decorum
import DecorumTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct DecoratorLawListings {
    @Test(arguments: DecoratorLaw.all)
    func law(_ law: DecoratorLaw) async throws {
        try await law.check { base in base.tagging() }
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
    fileprivate func tagging() -> some Connection { TaggingConnection(base: self) }
}

private struct TaggingConnection<Base: Connection>: ComposedConnection {
    let base: Base

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}
