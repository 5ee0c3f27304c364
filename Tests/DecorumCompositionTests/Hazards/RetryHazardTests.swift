import Decorum
import DecorumTestSupport
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

/// Retries at the wrong place, or of the wrong requests: the harm on the wire, the finding, and the mended stack.
@Suite(.timeLimit(.minutes(3))) struct RetryHazardTests {
    private let clock = ImpatientClock()
    private let policy = RetryPolicy(retries: 3, budget: .perCall(3))

    private func busy() -> StubConnection { StubConnection { _ in .busy } }

    @Test func `Retries around retries multiply`() async throws {
        let (many, few) = (busy(), busy())
        let wrong = many.retrying(policy, clock: clock).retrying(policy, clock: clock)
        let mended = few.retrying(policy, clock: clock)

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(many.requests.count == 16 && few.requests.count == 4)
        expectFinding(of: "retriesMultiply", in: wrong, naming: ["retrying", "retrying"], notIn: mended)
        #expect(wrong.findings.first { $0.hazard == "retriesMultiply" }?.consequence.contains("16 times") == true)
        let shared = few.retrying().retrying()
        #expect(shared.findings.first { $0.hazard == "retriesMultiply" }?.severity == .information)
    }

    @Test func `Retries outside of redirections begin again at the first URL`() async throws {
        func server() -> StubConnection {
            let failures = Mutex(1)
            return StubConnection { request in
                if request.head.path == "/" { return .redirection(to: "/2") }
                return failures.withLock { failures in
                    failures -= 1
                    return failures >= 0 ? .busy : .page
                }
            }
        }
        let (again, hop) = (server(), server())
        let wrong = again.followingRedirects().retrying(policy, clock: clock)
        let mended = hop.retrying(policy, clock: clock).followingRedirects()

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(again.requests.map(\.head.path) == ["/", "/2", "/", "/2"])
        #expect(hop.requests.map(\.head.path) == ["/", "/2", "/2"])
        expectFinding(
            of: "retriesOutsideOfRedirections", in: wrong, naming: ["retrying", "followingRedirects"], notIn: mended)
    }

    @Test func `Retries outside of a cache do not run where a stale response stands in`() async throws {
        func server() -> StubConnection {
            let answer = Response(status: .ok, fields: [.cacheControl: "max-age=1, stale-if-error=100"], body: "old")
            return StubConnection(answers: [{ _ in answer }]) { _ in .busy }
        }
        let (hidden, tried) = (server(), server())
        let wrong = hidden.caching(in: MemoryResponseStore(), clock: clock).retrying(policy, clock: clock)
        let mended = tried.retrying(policy, clock: clock).caching(in: MemoryResponseStore(), clock: clock)

        _ = try await wrong.send(.page).text()
        _ = try await mended.send(.page).text()
        try await clock.sleep(for: .seconds(10))
        #expect(try await wrong.send(.page).text() == "old")
        #expect(try await mended.send(.page).text() == "old")

        #expect(hidden.requests.count == 2 && tried.requests.count == 5)
        expectFinding(of: "retriesOutsideOfCache", in: wrong, naming: ["retrying", "caching"], notIn: mended)
    }

    @Test func `Retries do not run where another layer answers in place of the failure`() async throws {
        let (hidden, tried) = (busy(), busy())
        let wrong = fallingBack(hidden).retrying(policy, clock: clock)
        let mended = fallingBack(tried.retrying(policy, clock: clock))

        #expect(try await wrong.send(.page).text() == "default")
        #expect(try await mended.send(.page).text() == "default")

        #expect(hidden.requests.count == 1 && tried.requests.count == 4)
        expectFinding(of: "retriesOutsideOfAnswers", in: wrong, naming: ["retrying", "fallback"], notIn: mended)
    }

    private func fallingBack(_ base: some Connection) -> some Connection {
        base.intercepting("fallback", facts: [.inventsAnswers]) { request, base in
            let response = try await base.send(request)
            return response.status == .serviceUnavailable ? Response(status: .ok, body: "default") : response
        }
    }

    @Test func `Callers who share a failure retry each on its own`() async throws {
        for isWrong in [true, false] {
            let clock = VirtualClock()
            let gate = Gate()
            let stub = StubConnection { _ in
                try await gate.wait()
                throw TransportError(.connectionRefused, at: .connecting)
            }
            let generator = SeededGenerator(seed: 1)
            let wrong = stub.coalescing().retrying(policy, clock: clock, generator: generator)
            let mended = stub.retrying(policy, clock: clock, generator: generator).coalescing()
            let connection: any Connection = isWrong ? wrong : mended

            let calls = await Callers.start(5) { _ in try await connection.send(.page).status }
            try await gate.waitForWaiting(1)
            gate.open()
            try await clock.waitForSleepers(isWrong ? 5 : 1)
            // A further call that retried would sleep too by then.
            for _ in 0..<1000 { await Task.yield() }
            #expect(clock.pendingSleeps.count == (isWrong ? 5 : 1))
            #expect(stub.requests.count == 1)
            for call in calls { call.cancel() }
            for call in calls { _ = await call.result }
            expectFinding(of: "retriesOutsideOfSharing", in: wrong, naming: ["retrying", "coalescing"], notIn: mended)
        }
    }

    @Test func `A policy that repeats unsafe methods places an order twice`() async throws {
        let (twice, keyed, once) = (busy(), busy(), busy())
        var repeating = policy
        repeating.methods.insert(.post)
        let wrong = twice.retrying(repeating, clock: clock)
        let mended = keyed.retrying(repeating, clock: clock).addingIdempotencyKey()
        let plain = once.retrying(policy, clock: clock)

        for connection: any Connection in [wrong, mended, plain] {
            _ = try await connection.send(.post("https://a.example/orders", body: "one"))
        }

        let key = try #require(HTTPField.Name("Idempotency-Key"))
        #expect(twice.values(of: key) == [nil, nil, nil, nil])
        #expect(Set(keyed.values(of: key)).count == 1 && keyed.requests.count == 4)
        #expect(once.requests.count == 1)
        expectFinding(of: "unsafeMethodsRepeated", in: wrong, naming: ["retrying"], notIn: mended)
        expectFinding(of: "unsafeMethodsRepeated", in: wrong, naming: ["retrying"], notIn: plain)
    }

    @Test func `A key for other methods does not make a repeated method safe`() async throws {
        let lock = try #require(HTTPRequest.Method("LOCK"))
        let stub = busy()
        var repeating = policy
        repeating.methods.formUnion([.post, .patch, lock])
        let wrong = stub.retrying(repeating, clock: clock).addingIdempotencyKey()
        _ = try await wrong.send(Request(lock, "https://a.example/order"))
        #expect(stub.requests.count == 4)

        let finding = try #require(wrong.findings.first { $0.hazard == "unsafeMethodsRepeated" })
        #expect(finding.consequence.contains("with `LOCK` again"))
        expectFinding(
            of: "unsafeMethodsRepeated", in: stub.retrying(repeating).addingIdempotencyKey(to: [.post]),
            naming: ["retrying"],
            notIn: stub.retrying(repeating).addingIdempotencyKey(to: [.post, .patch, lock]))
    }

    @Test func `A closure inside of retries is not accused of a value for each attempt`() {
        let constant = busy().addingDefaultFields(secretFields: []) { _ in [.accept: "a/b"] }.retrying(
            policy, clock: clock)
        #expect(!constant.findings.contains { $0.hazard == "valueForEachAttempt" })
        let named = busy().intercepting("trace", facts: [.identifiesCalls, .variesPerSend]) { try await $1.send($0) }
            .retrying(policy, clock: clock)
        #expect(named.findings.contains { $0.hazard == "valueForEachAttempt" })
    }

    @Test func `Without a budget, a fleet sends many times as much to a server in trouble`() async throws {
        let (many, few) = (busy(), busy())
        let wrong = many.retrying(RetryPolicy(budget: .unlimited), clock: clock)
        let mended = few.retrying(RetryPolicy(budget: RetryBudget()), clock: clock)

        for _ in 1...20 {
            _ = try await wrong.send(.page)
            _ = try await mended.send(.page)
        }

        #expect(many.requests.count == 80 && few.requests.count < 30)
        expectFinding(of: "retriesWithoutBudget", in: wrong, naming: ["retrying"], notIn: mended)
    }

    @Test func `A raised number of retries is found`() async throws {
        let stub = busy()
        let wrong = stub.retrying(RetryPolicy(retries: 100, budget: .perCall(100)), clock: clock)
        _ = try await wrong.send(.page)

        #expect(stub.requests.count == 101)
        expectFinding(of: "manySends", in: wrong, naming: ["retrying"], notIn: stub.retrying(policy))
        let redirecting = stub.followingRedirects(upTo: .max)
        expectFinding(
            of: "manySends", in: redirecting, naming: ["followingRedirects"],
            notIn: stub.followingRedirects(remembering: PermanentRedirections()))
    }

    @Test func `Each attempt has a key and an identifier of its own`() async throws {
        let (different, same) = (busy(), busy())
        var repeating = policy
        repeating.methods.insert(.post)
        let wrong = different.addingIdempotencyKey().addingRequestID().retrying(repeating, clock: clock)
        let mended = same.retrying(repeating, clock: clock).addingIdempotencyKey().addingRequestID()

        _ = try await wrong.send(.post("https://a.example/orders", body: "one"))
        _ = try await mended.send(.post("https://a.example/orders", body: "one"))

        for name in ["Idempotency-Key", "X-Request-ID"] {
            let name = try #require(HTTPField.Name(name))
            #expect(Set(different.values(of: name)).count == 4)
            #expect(Set(same.values(of: name)).count == 1 && same.requests.count == 4)
        }
        expectFinding(of: "keyForEachAttempt", in: wrong, naming: ["addingIdempotencyKey", "retrying"], notIn: mended)
        expectFinding(of: "valueForEachAttempt", in: wrong, naming: ["addingRequestID", "retrying"], notIn: mended)
        #expect(wrong.findings.contains { $0.hazard == "unsafeMethodsRepeated" })
    }

    @Test func `A status that became an error is neither tried again nor followed`() async throws {
        let (once, again) = (busy(), busy())
        let wrong = once.validatingStatus().retrying(policy, clock: clock)
        let mended = again.retrying(policy, clock: clock).validatingStatus()

        await #expect(throws: StatusError.self) { try await wrong.send(.page) }
        await #expect(throws: StatusError.self) { try await mended.send(.page) }

        #expect(once.requests.count == 1 && again.requests.count == 4)
        expectFinding(of: "statusErrorTooEarly", in: wrong, naming: ["validatingStatus", "retrying"], notIn: mended)
        let all = try StubConnection().authenticating(from: CountingSource(), for: site).validatingStatus().pacing()
            .caching(in: MemoryResponseStore()).decompressing().followingRedirects().resolving(
                against: "https://a.example/")
        expectFinding(
            of: "statusErrorTooEarly", in: all,
            naming: ["validatingStatus", "followingRedirects", "decompressing", "caching", "pacing"], notIn: mended)
    }
}
