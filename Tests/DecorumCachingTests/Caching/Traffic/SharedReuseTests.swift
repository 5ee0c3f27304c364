import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Requests that miss at the same time share a response only where the cache may use it again.
@Suite(.timeLimit(.minutes(3))) struct SharedReuseTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()
    let gate = Gate()

    enum Answer: CaseIterable {
        case unauthorized, serverError, settingCookie, staleOnArrival

        func response(_ number: Int) -> Response {
            let body = Body("\(number)")
            return switch self {
            case .unauthorized: Response(status: .unauthorized, body: body)
            case .serverError: Response(status: .internalServerError, body: body)
            case .settingCookie: Response(status: .ok, fields: [.setCookie: "sid=\(number)"], body: body)
            case .staleOnArrival:
                Response(status: .ok, fields: [.cacheControl: "max-age=10", .age: "100"], body: body)
            }
        }
    }

    /// A server that gives each request another body, once the gate lets it.
    private func origin(_ answer: @escaping @Sendable (Int) -> Response) -> StubConnection {
        let count = Atomic(0)
        return StubConnection { [gate] _ in
            let number = count.add(1, ordering: .relaxed).newValue
            try await gate.wait()
            return answer(number)
        }
    }

    private func texts(_ count: Int, through connection: some Connection) async -> [Task<String, any Error>] {
        await Callers.start(count) { _ in
            try await connection.send(.get("https://example.com/page")).body.text(upTo: 100)
        }
    }

    @Test(arguments: Answer.allCases)
    func `A response that is not for reuse is for the caller who asked, and the others are sent together`(
        answer: Answer
    ) async throws {
        defer { gate.open() }
        let connection = origin(answer.response).caching(in: store, clock: clock, spawner: spawner)
        let callers = await texts(5, through: connection)
        #expect(await soon { gate.waitingCount == 1 })
        gate.admit()
        #expect(await soon { gate.waitingCount == 4 })
        gate.open()

        var texts: Set<String> = []
        for caller in callers { texts.insert(try await caller.value) }
        #expect(texts.count == 5)
    }

    @Test(arguments: Answer.allCases)
    func `Requests after a response that is not for reuse do not wait for each other`(answer: Answer) async throws {
        defer { gate.open() }
        let connection = origin(answer.response).caching(in: store, clock: clock, spawner: spawner)
        gate.open()
        for caller in await texts(2, through: connection) { _ = try await caller.value }
        gate.close()

        let later = await texts(3, through: connection)
        #expect(await soon { gate.waitingCount == 3 })
        gate.open()
        for caller in later { _ = try await caller.value }
    }

    @Test func `Each reload is a request of its own`() async throws {
        defer { gate.open() }
        let connection = origin { number in
            Response(
                status: .ok, fields: [.cacheControl: "max-age=60", .eTag: "\"\(number)\""], body: Body("\(number)"))
        }
        .caching(in: store, clock: clock, spawner: spawner)
        let callers = await Callers.start(2) { _ in
            var request = try Request.get("https://example.com/page")
            request.options.cacheUse = .reload
            return try await connection.send(request).body.text(upTo: 100)
        }
        #expect(await soon { gate.waitingCount == 2 })
        gate.open()
        var texts: Set<String> = []
        for caller in callers { texts.insert(try await caller.value) }
        #expect(texts == ["1", "2"])
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let age = HTTPField.Name("Age")!
}
