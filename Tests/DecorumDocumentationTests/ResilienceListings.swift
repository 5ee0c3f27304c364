import Decorum
import HTTPTypes

private func retrying() -> any Connection {
    let connection = SystemConnection()
        .retrying(RetryPolicy(retries: 2, when: .standard || .status(403)))
    return connection
}

private func retryPolicy() -> RetryPolicy {
    let policy = RetryPolicy(when: .standard || .status(403), maximumRetryAfter: .seconds(300))
    return policy
}

private func retryRule() -> RetryPolicy {
    let limited = RetryRule("limited") { attempt in
        attempt.response?.status == .forbidden && attempt.response?.headerFields.contains(.retryAfter) == true
    }
    let patient = RetryPolicy(when: .standard || limited)
    return patient
}

struct WarmingUp: TemporaryError {
    var mayPass: Bool { true }
    var meansNotProcessed: Bool { true }
}

private func pacing() -> any Connection {
    let connection = SystemConnection()
        .pacing()
        .retrying()
        .caching(in: MemoryResponseStore())
    return connection
}

private func sharingPauses() -> any Connection {
    let pauses = ServerPauses()
    let connection = SystemConnection()
        .pacing(in: pauses)
    return connection
}

private func idempotencyKeys() -> any Connection {
    let connection = SystemConnection()
        .retrying()
        .addingIdempotencyKey()
    return connection
}

private func requestIDs() -> any Connection {
    let connection = SystemConnection()
        .retrying()
        .addingRequestID()
    // X-Request-ID: 8e03978e-40d5-43dd-bc93-6894a57f9324
    return connection
}

private func limitingTime() -> any Connection {
    let connection = SystemConnection()
        .limitingTime(as: .attempt)
        .retrying()
        .followingRedirects()
        .limitingTime()
    return connection
}

private func attemptTimePolicy() -> any Connection {
    let connection = SystemConnection()
        .limitingTime(AttemptTimePolicy(.seconds(5)), as: .attempt)
        .retrying()
        .limitingTime(TimePolicy(call: .seconds(20)))
    return connection
}

private func timePolicy() throws -> Request {
    var request = try Request.post("https://api.example.com/answers", body: Body(json: ["question": "Why?"]))
    request.options.timePolicy = .modelAnswer
    return request
}

private func transferLimits(of request: Request, on clock: any DatedClock) throws {
    let limits = try TransferLimits(request.options, idleTimeout: .seconds(60))
    try limits.check(at: clock.now, for: Origin(request.head))
}

private func coalescing() -> any Connection {
    let connection = SystemConnection()
        .retrying()
        .coalescing()
    return connection
}

private func retryVerdict() -> RetryPolicy {
    let rules = RetryRule(deciding: "overloaded") { attempt in
        switch attempt.response?.status.code {
        case 529: .retry(after: .seconds(5)) { $0.priority = .background }
        case 501: .giveUp
        default: .noOpinion
        }
    }
    let policy = RetryPolicy(when: rules || .standard)
    return policy
}

private func countingSlowAttempts(_ error: TransportError, _ slowAttempts: inout Int) {
    if error.deadlineScope == .attempt { slowAttempts += 1 }
}

private func pausesByStatus() -> PacingPolicy {
    let policy = PacingPolicy(pausesByStatus: [.serviceUnavailable: .seconds(1), .init(code: 529): .seconds(5)])
    return policy
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let tenant = HTTPField.Name("Tenant")!
}

private func pausesByTenant() -> PacingPolicy {
    let policy = PacingPolicy(key: PacingKey("tenant") { request, _ in request.headerFields[.tenant] })
    return policy
}
