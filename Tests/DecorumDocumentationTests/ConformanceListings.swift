import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct DecoratorLawListings {
    @Test(arguments: DecoratorLaw.all)
    func law(_ law: DecoratorLaw) async throws {
        try await law.check { base in base.counting() }
    }
}

@Suite(.timeLimit(.minutes(3))) struct StoringDecoratorLawListings {
    @Test(arguments: DecoratorLaw.all)
    func law(_ law: DecoratorLaw) async throws {
        try await law.check { base in base.answeringOffline(from: OfflineMemory()) }
    }
}

struct NumberingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let counter = Counter()

    var layer: Layer { Layer(name: "numbering", role: .preparation, facts: [.changesSignedParts]) }

    func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.requestNumber] = String(counter.next())
        return try await base.send(request)
    }
}

@Test(arguments: DecoratorLaw.all)
func numberingKeeps(_ law: DecoratorLaw) async throws {
    try await law.check(adding: [.requestNumber]) { base in NumberingConnection(base: base) }
}

@Test(arguments: DecoratorLaw.all)
func retryingKeeps(_ law: DecoratorLaw) async throws {
    let busy = DecoratorLaw.ActivePath("a 429") { _, number in
        Response(status: number == 1 ? .tooManyRequests : .ok)
    }
    try await law.check(answering: [busy]) { base, conditions in
        base.retrying(clock: conditions.clock).logging(to: conditions.log)
    }
}

@Test(arguments: DecoratorLaw.all)
func refreshingKeeps(_ law: DecoratorLaw) async throws {
    let expired = DecoratorLaw.ActivePath("an expired token") { request, number in
        if request.path == "/token" { return Response(status: .ok, body: "new") }
        return Response(status: number == 1 ? .unauthorized : .ok)
    }
    try await law.check(
        adding: [.authorization], asking: ["/token"], answering: [expired]
    ) { base, conditions in
        RefreshingConnection(base: base, conditions: conditions)
    }
}

extension HTTPField.Name {
    // Safe: the literal is a valid field name.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let requestNumber = HTTPField.Name("X-Request-Number")!
}

@Suite(.timeLimit(.minutes(3))) struct ExcludedLawListings {
    @Test(arguments: DecoratorLaw.all.excluding(.statuses, because: "it makes errors of them"))
    func law(_ law: DecoratorLaw) async throws {
        try await law.check { $0.validatingStatus() }
    }
}

@Suite(.disabled("The transport's own suite runs the cases.")) struct TransportCaseListings {
    @Test(arguments: TransportCase.all.excluding("responseTrailers", because: "The platform drops them."))
    func rule(_ rule: TransportCase) async throws {
        let outcome = try await rule.check { conditions in MyConnection(clock: conditions.clock) }
        if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
    }
}

@Suite(.disabled("The transport's own suite runs the cases.")) struct SecureTransportCaseListings {
    @Test(arguments: TransportCase.all)
    func rule(_ rule: TransportCase) async throws {
        let outcome = try await rule.check { MyConnection(trusting: $0.root, showing: $0.identity, clock: $0.clock) }
        if case .skipped(let reason) = outcome { try Test.cancel("\(reason)") }
    }
}

@Test func `Excluded cases are removed from the rules`() {
    let rules = TransportCase.all
        .excluding("trustedServer", "clientCertificate", because: "The system's certificates decide.")
        .excluding(TransportCase.http2, because: "The transport speaks HTTP/1.1.")
    #expect(rules.exclusions.count == 2 + TransportCase.http2.count)
    #expect(Set(rules).isDisjoint(with: TransportCase.http2))
    let plain = TransportCase.all.excluding(TransportCase.tls + TransportCase.http2, because: "It has no TLS.")
    #expect(plain.count == TransportCase.all.count - TransportCase.tls.count - TransportCase.http2.count)
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
        _ = count.next()
        return try await base.send(request)
    }
}

final class Counter: Sendable {
    let requests = Atomic(0)

    func next() -> Int { requests.add(1, ordering: .relaxed).newValue }
}

private struct RefreshingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let conditions: DecoratorConditions

    func send(_ request: consuming Request) async throws -> Response {
        try await base.send(request)
    }
}
