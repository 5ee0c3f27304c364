import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// The cases, 25 at once, through one caching connection: in one store, and on one clock.
final class CacheCasesAtOnce: Sendable {
    static let width = 25

    private let cases: [CacheCase]
    private let origins = CommonOrigin()
    private let pauses = CasePauses()
    private let connection: any Connection

    init(_ cases: [CacheCase], throughCacheIn store: some ResponseStore) {
        self.cases = cases
        connection = ClosureConnection { [origins] request in
            request.reportSending()
            return try await origins.answer(request)
        }
        .caching(in: store, clock: pauses.clock, spawner: SpawnerOfCase())
    }

    /// The largest number of requests that the origin has had to answer at the same time.
    var largestUnderWay: Int { origins.largestUnderWay }

    // Runs all cases once; the seed determines how long each answer takes.
    func verdicts(seed: UInt64) async throws -> [String: CacheCaseRun.Verdict] {
        let verdicts = Mutex<[String: CacheCaseRun.Verdict]>([:])
        origins.begin(seed: seed)
        pauses.begin(cases.count, atMost: Self.width)
        try await cases.forEach(atMost: Self.width) { [self] test in
            defer { pauses.end() }
            let spawner = TrackingSpawner()
            // A store in files may count a removal for another URI, so by random URIs a case would fail now and then.
            let run = CacheCaseRun(
                test: test, clock: pauses.clock, spawner: spawner, token: "\(test.id)-\(seed)"
            ) { [pauses] duration in try await pauses.pause(for: duration) }
            let origin = run.origin
            origins.add(origin, for: run.token)
            let verdict = try await SpawnerOfCase.$spawner.withValue(spawner) {
                try await run.verdict(through: connection, from: origin)
            }
            verdicts.withLock { $0[test.id] = verdict }
        }
        return verdicts.withLock { $0 }
    }
}

/// The spawner of a connection that several cases use: each waits only for the work that it has caused.
private struct SpawnerOfCase: TaskSpawner {
    @TaskLocal static var spawner = TrackingSpawner()

    func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Self.spawner.spawn(work)
    }
}

/// The origin server of all cases, which takes some time for each answer.
private final class CommonOrigin: Sendable {
    private struct State {
        var origins: [Substring: CacheCaseOrigin] = [:]
        var generator = SeededGenerator(seed: 0)
        var underWay = 0
        var largestUnderWay = 0
    }

    private let state = Mutex(State())

    var largestUnderWay: Int { state.withLock { $0.largestUnderWay } }

    func begin(seed: UInt64) {
        state.withLock { $0 = State(generator: SeededGenerator(seed: seed)) }
    }

    func add(_ origin: CacheCaseOrigin, for token: String) {
        state.withLock { $0.origins[token[...]] = origin }
    }

    func answer(_ request: Request) async throws -> Response {
        let token = (request.head.path ?? "").split { "/?".contains($0) }.first ?? ""
        let (origin, turns) = state.withLock { state in
            state.underWay += 1
            state.largestUnderWay = max(state.largestUnderWay, state.underWay)
            return (state.origins[token], state.generator.next() % 64)
        }
        defer { state.withLock { $0.underWay -= 1 } }
        guard let origin else { return Response(status: .notFound) }

        for _ in 0..<turns { await Task.yield() }
        let response = try await origin.answer(request)
        for _ in 0..<turns { await Task.yield() }
        return Response(head: response.head, body: response.body.arrivingLater)
    }
}

extension Body {
    /// The same content, which arrives after the head, as from a network.
    fileprivate var arrivingLater: Body {
        guard let bytes, !bytes.isEmpty else { return self }
        return Body(length: nil, replay: .once) { _ in LateReader(rest: bytes) }
    }
}

private struct LateReader: BodyReader {
    var rest: Data?
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        for _ in 0..<8 { await Task.yield() }
        return rest.take()
    }
}

/// The pauses of cases that run at once: the time moves on only when every case waits for it.
///
/// So each case sees exactly the time of its own pauses, as if it ran alone.
final class CasePauses: Sendable {
    private struct State {
        /// The number of cases that have not ended.
        var rest = 0
        var width = 0
        /// When each waiting case goes on.
        var deadlines: [ContinuousClock.Instant] = []
    }

    let clock = VirtualClock()
    private let state = Mutex(State())

    /// Begins with a number of cases, of which so many run at once.
    func begin(_ count: Int, atMost width: Int) {
        state.withLock { $0 = State(rest: count, width: width) }
    }

    /// Ends a case, for which no other case waits.
    func end() {
        change { $0.rest -= 1 }
    }

    /// Waits until the time has moved on.
    func pause(for duration: Duration) async throws {
        let deadline = clock.now + duration
        change { $0.deadlines.append(deadline) }
        try await clock.sleep(until: deadline, tolerance: nil)
    }

    private func change(_ change: (inout State) -> Void) {
        let next = state.withLock { state -> ContinuousClock.Instant? in
            change(&state)
            guard let next = state.deadlines.min(), state.deadlines.count >= min(state.width, state.rest) else {
                return nil
            }
            state.deadlines.removeAll { $0 <= next }
            return next
        }
        if let next { clock.advance(by: next - clock.now) }
    }
}
