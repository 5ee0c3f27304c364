import Decorum
import DecorumTesting
import HTTPTypes
import Testing

/// Calls that last too long, and waits at the wrong place: the harm, the finding, and the mended stack.
@Suite(.timeLimit(.minutes(3))) struct DeadlineHazardTests {
    private let clock = ImpatientClock()
    private let policy = RetryPolicy(retries: 3, budget: .perCall(3))

    private static func busy(for seconds: Int) -> StubConnection {
        StubConnection { _ in Response(status: .serviceUnavailable, fields: [.retryAfter: "\(seconds)"]) }
    }

    @Test func `Nothing limits a call with retries, and a deadline does`() async throws {
        let (long, short) = (Self.busy(for: 60), Self.busy(for: 60))
        let wrong = long.retrying(policy, clock: clock)
        let mended = short.retrying(policy, clock: clock).limitingTime(clock: clock)
        let start = clock.now

        _ = try await wrong.send(.page)
        #expect(clock.now - start >= .seconds(180) && long.requests.count == 4)
        let middle = clock.now
        _ = try await mended.send(.page)
        #expect(clock.now == middle && short.requests.count == 1)

        expectFinding(of: "unlimitedCall", in: wrong, naming: ["retrying"], notIn: mended)
        let unlimited = short.retrying(policy).limitingTime(TimePolicy(call: nil, idle: .seconds(5)))
        expectFinding(of: "unlimitedCall", in: unlimited, naming: ["retrying"], notIn: mended)
        let attempts = short.limitingTime(as: .attempt).retrying(policy)
        expectFinding(of: "unlimitedCall", in: attempts, naming: ["retrying"], notIn: mended)
        let whole = short.retrying(policy).caching(in: MemoryResponseStore()).followingRedirects().validatingStatus()
        let finding = try #require(whole.findings.first { $0.hazard == "unlimitedCall" })
        #expect(finding.change == "Write `.limitingTime()` below the line of `followingRedirects`.")
    }

    @Test func `The time of a call inside of redirections begins anew at each hop`() async throws {
        for isWrong in [true, false] {
            let clock = ImpatientClock()
            let stub = StubConnection { request in
                try await clock.sleep(for: .seconds(20))
                if let deadline = request.options.deadline, deadline < clock.now {
                    throw TransportError(.deadlineExceeded, at: .head)
                }
                return .redirection(to: (request.head.path ?? "") + "a")
            }
            let wrong = stub.limitingTime(clock: clock).followingRedirects(upTo: 9, clock: clock)
            let mended = stub.followingRedirects(upTo: 9, clock: clock).limitingTime(clock: clock)
            let connection: any Connection = isWrong ? wrong : mended
            let start = clock.now

            _ = try? await connection.send(.page)

            #expect((clock.now - start > .seconds(180)) == isWrong)
            expectFinding(
                of: "callLimitTooFarIn", in: wrong, naming: ["limitingTime", "followingRedirects"], notIn: mended)
        }
        let inside = Self.busy(for: 1).limitingTime().retrying()
        #expect(Set(inside.findings.map(\.hazard)) == ["callLimitTooFarIn", "testWaits"])
        let attempts = Self.busy(for: 1).limitingTime().followingRedirects().limitingTime(as: .attempt)
        #expect(attempts.findings.map(\.hazard) == ["callLimitTooFarIn"])
    }

    @Test func `The time of one caller ends the request that another waits for`() async throws {
        for isWrong in [true, false] {
            let clock = VirtualClock()
            let gate = Gate()
            let stub = StubConnection { request in
                guard let deadline = request.options.deadline else {
                    try await gate.wait()
                    return .page
                }
                try await clock.sleep(until: deadline, tolerance: nil)
                throw TransportError(.deadlineExceeded, at: .head)
            }
            let times = TimePolicy(call: .seconds(10))
            let wrong = stub.limitingTime(times, clock: clock).coalescing(clock: clock)
            let mended = stub.coalescing(clock: clock).limitingTime(times, clock: clock)
            if isWrong {
                // A caller with time of its own fails at the time of the request that it shares.
                var patient = try Request.page
                patient.options.deadline = clock.now + .seconds(60)
                let task = Task { [patient] in try await wrong.send(patient) }
                try await clock.waitForSleepers(2)
                clock.advance(by: .seconds(10))
                await #expect(throws: TransportError.self) { try await task.value }
            }
            expectFinding(of: "callLimitTooFarIn", in: wrong, naming: ["limitingTime", "coalescing"], notIn: mended)
        }
    }

    @Test func `A raised wait lasts for days, and a deadline outside ends it`() async throws {
        var patient = policy
        patient.maximumRetryAfter = .seconds(86_400)
        let (long, short) = (Self.busy(for: 80_000), Self.busy(for: 80_000))
        let wrong = long.retrying(patient, clock: clock)
        let mended = short.retrying(patient, clock: clock).limitingTime(clock: clock)
        let start = clock.now

        _ = try await wrong.send(.page)
        #expect(clock.now - start >= .seconds(240_000))
        let middle = clock.now
        _ = try await mended.send(.page)
        #expect(clock.now == middle)

        expectFinding(of: "longWait", in: wrong, naming: ["retrying"], notIn: mended)
        expectFinding(
            of: "longWait", in: long.pacing(PacingPolicy(longestWait: .seconds(3600))), naming: ["pacing"],
            notIn: long.pacing())
    }

    @Test func `The time of an attempt ends a call outside of the retries`() async throws {
        let times = AttemptTimePolicy(.seconds(10))
        let (ended, tried) = (Self.busy(for: 30), Self.busy(for: 30))
        let wrong = ended.retrying(policy, clock: clock).limitingTime(times, as: .attempt, clock: clock)
        let mended = tried.limitingTime(times, as: .attempt, clock: clock).retrying(policy, clock: clock)
            .limitingTime(TimePolicy(call: .seconds(300)), clock: clock)

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(ended.requests.count == 1 && tried.requests.count == 4)
        expectFinding(
            of: "attemptLimitOutsideOfRetries", in: wrong, naming: ["limitingTime", "retrying"], notIn: mended)
    }

    @Test func `An attempt with the time of the call leaves no time for the next`() async throws {
        func slowServer(_ clock: ImpatientClock) -> StubConnection {
            StubConnection { request in
                let deadline = try #require(request.options.deadline)
                try await clock.sleep(until: deadline, tolerance: nil)
                throw TransportError(.timedOut, at: .head)
            }
        }
        let (wrongClock, mendedClock) = (ImpatientClock(), ImpatientClock())
        let (once, again) = (slowServer(wrongClock), slowServer(mendedClock))
        func stack(_ stub: StubConnection, _ attempt: Duration, _ clock: ImpatientClock) -> some Connection {
            stub.limitingTime(AttemptTimePolicy(attempt), as: .attempt, clock: clock)
                .retrying(RetryPolicy(retries: 3, baseDelay: .zero, budget: .perCall(3)), clock: clock)
                .limitingTime(TimePolicy(call: .seconds(10)), clock: clock)
        }
        let wrong = stack(once, .seconds(10), wrongClock)
        let mended = stack(again, .seconds(3), mendedClock)

        await #expect(throws: TransportError.self) { try await wrong.send(.page) }
        await #expect(throws: TransportError.self) { try await mended.send(.page) }

        #expect(once.requests.count == 1 && again.requests.count == 4)
        expectFinding(of: "attemptLimitAboveCall", in: wrong, naming: ["limitingTime", "limitingTime"], notIn: mended)
    }

    @Test func `A retry is sent into the pause that another call was asked for`() async throws {
        for isWrong in [true, false] {
            let clock = ImpatientClock()
            let pauses = ServerPauses()
            let other = Self.busy(for: 30).pacing(in: pauses, clock: clock)
            let stub = StubConnection(
                answers: [
                    { _ in
                        _ = try await other.send(.page)
                        return Response(status: .badGateway)
                    }
                ],
                then: { _ in .page })
            let wrong = stub.retrying(policy, clock: clock).pacing(in: pauses, clock: clock)
            let mended = stub.pacing(in: pauses, clock: clock).retrying(policy, clock: clock)
            let connection: any Connection = isWrong ? wrong : mended
            let start = clock.now

            #expect(try await connection.send(.page).status == .ok)

            #expect((clock.now - start < .seconds(30)) == isWrong)
            expectFinding(of: "pausesOutsideOfRetries", in: wrong, naming: ["pacing", "retrying"], notIn: mended)
        }
    }

    @Test func `A request that the cache could answer waits for the pause of the server`() async throws {
        for isWrong in [true, false] {
            let clock = ImpatientClock()
            let stub = StubConnection { request in
                request.head.path == "/"
                    ? .page : Response(status: .serviceUnavailable, fields: [.retryAfter: "30"])
            }
            let wrong = stub.caching(in: MemoryResponseStore(), clock: clock).pacing(clock: clock)
            let mended = stub.pacing(clock: clock).caching(in: MemoryResponseStore(), clock: clock)
            let connection: any Connection = isWrong ? wrong : mended
            _ = try await connection.send(.page).text()
            _ = try await connection.send(.get("https://a.example/busy"))
            let start = clock.now

            #expect(try await connection.send(.page).metadata.source == .cache)

            #expect((clock.now == start) == !isWrong)
            expectFinding(of: "pausesOutsideOfCache", in: wrong, naming: ["pacing", "caching"], notIn: mended)
        }
    }
}
