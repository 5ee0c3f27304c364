import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The check of a whole stack: branches, unknown layers, accepted hazards, and the texts.
@Suite struct CompositionTests {
    private let stub = StubConnection()

    /// Sends through one of two connections.
    private struct Routing<Base: Connection>: ComposedConnection {
        let base: Base
        let other: any Connection
        var carriesRequests = true

        var layer: Layer {
            Layer(
                name: "routing",
                sending: .init(branches: [.init("other", other.layers, carriesRequests: carriesRequests)]))
        }

        func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
    }

    private struct Tagging<Base: Connection>: ComposedConnection {
        let base: Base

        func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
    }

    @Test func `A mistake across a branch is found, and none where the branch has requests of its own`() {
        let other = stub.followingRedirects()
        let carrying = Routing(base: stub, other: other).caching(in: MemoryResponseStore())
        let own = Routing(base: stub, other: other, carriesRequests: false).caching(in: MemoryResponseStore())

        #expect(carrying.findings.map(\.hazard) == ["cacheOutsideOfRedirections"])
        #expect(carrying.findings.first?.places.map(\.number) == [1, 3])
        #expect(own.findings.isEmpty)
        let beside = Routing(base: stub.followingRedirects(), other: stub.caching(in: MemoryResponseStore()))
        #expect(beside.findings.isEmpty)
    }

    @Test func `A layer that declares nothing is unknown, and no finding`() {
        let connection = Tagging(base: stub).intercepting("timing") { try await $1.send($0) }
        #expect(connection.findings.isEmpty)
        #expect(connection.composition.unknownLayers.map(\.layer.name) == ["timing", "Tagging"])
        let declared = stub.intercepting("timing", facts: []) { try await $1.send($0) }
        #expect(declared.composition.unknownLayers.isEmpty)
    }

    @Test func `A stack that is chosen in a closure is unknown, unless the closure names its connections`() {
        let (one, two) = (stub.retrying(.tool), stub.validatingStatus())
        let hidden = ClosureConnection { request in
            request.head.path == "/" ? try await one.send(request) : try await two.send(request)
        }
        let shown = ClosureConnection(choosingFrom: [.init("one", one.layers), .init("two", two.layers)]) { request in
            request.head.path == "/" ? try await one.send(request) : try await two.send(request)
        }

        let (unknown, known) = (hidden.retrying(.tool).limitingTime(), shown.retrying(.tool).limitingTime())
        #expect(unknown.findings.isEmpty)
        #expect(unknown.composition.unknownLayers.map(\.layer.name) == ["ClosureConnection"])
        let hazards = Set(known.findings.map(\.hazard))
        #expect(hazards.isSuperset(of: ["retriesMultiply", "statusErrorTooEarly"]))
        #expect(known.composition.unknownLayers.isEmpty)
    }

    @Test func `A closure that computes fields is unknown until it says which of them are secret`() {
        let silent = stub.addingDefaultFields { _ in [.authorization: "Bearer t"] }.followingRedirects()
        #expect(silent.findings.isEmpty)
        #expect(silent.composition.unknownLayers.map(\.number) == [2])
        #expect(
            "\(silent.composition)".contains(
                "unknown      2 addingDefaultFields(fields: computed)"))
        #expect(stub.overridingFields { _ in [:] }.composition.unknownLayers.count == 1)

        let told = stub.addingDefaultFields(secretFields: [.authorization]) { _ in [.authorization: "Bearer t"] }
            .followingRedirects()
        #expect(told.findings.map(\.hazard) == ["credentialsForEveryOrigin"])
        let harmless = stub.addingDefaultFields(secretFields: []) { _ in [.accept: "a/b"] }.followingRedirects()
        #expect(harmless.findings.isEmpty && harmless.composition.unknownLayers.isEmpty)
        // What it adds may change its bounds no more than another field.
        #expect(silent.bounds.requests.value == 0 && silent.bounds.requests == harmless.bounds.requests)
    }

    @Test func `The check throws the errors, and the warnings if they are refused too`() throws {
        let sound = stub.retrying(.tool, clock: ImpatientClock()).limitingTime()
        #expect(try sound.checked(refusing: .information).layers == sound.layers)
        let warned = stub.retrying(.tool, clock: ImpatientClock())
        #expect(try warned.checked().layers == warned.layers)
        let error = #expect(throws: CompositionError.self) { try warned.checked(refusing: .warning) }
        #expect(error?.refused.map(\.hazard) == ["unlimitedCall"])

        let wrong = warned.logging(to: LogSink { _ in }, detail: .fields, redacting: .none).caching(
            in: MemoryResponseStore()
        )
        .retrying(.tool, clock: ImpatientClock())
        let all = #expect(throws: CompositionError.self) { try wrong.checked() }
        #expect(all?.refused.map(\.hazard) == ["retriesOutsideOfCache", "secretsRecorded"])
    }

    @Test func `An intended hazard is accepted with a reason`() throws {
        let connection = stub.retrying(.tool, clock: ImpatientClock())
        let reasons: [Hazard: String] = [
            "unlimitedCall": "The job has a deadline.", "longWait": "Other stacks need it.",
        ]
        #expect(try connection.checked(refusing: .information, accepting: reasons).layers == connection.layers)
        #expect(throws: CompositionError.self) {
            try connection.checked(refusing: .warning, accepting: ["longWait": ""])
        }
    }
}

/// The assertion for tests of any framework.
@Suite struct RequiringNoFindingsTests {
    @Test func `A stack with findings fails, and the error lists them`() throws {
        let waiting = StubConnection().retrying(.tool).limitingTime()
        let error = #expect(throws: CompositionError.self) { try requireNoFindings(in: waiting) }
        #expect(error?.refused.map(\.hazard) == ["testWaits"])
        try requireNoFindings(in: waiting, accepting: ["testWaits": "No answer of the stub is tried again."])
        try requireNoFindings(in: StubConnection().retrying(.tool, clock: ImpatientClock()).limitingTime())
    }
}
