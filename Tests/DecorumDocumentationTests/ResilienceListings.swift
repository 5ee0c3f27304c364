import Decorum

private func retrying() -> any Connection {
    let connection = SystemConnection()
        .retrying(RetryPolicy(retries: 2))
    return connection
}

private func retryPolicy() -> RetryPolicy {
    let patient = RetryPolicy(retries: 5, maximumRetryAfter: .seconds(300))
    return patient
}

private func limitingTime() -> any Connection {
    let connection = SystemConnection()
        .limitingTime(as: .attempt)
        .retrying()
        .followingRedirects()
        .limitingTime()
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
