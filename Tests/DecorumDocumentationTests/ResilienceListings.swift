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

private func coalescing() -> any Connection {
    let connection = SystemConnection()
        .retrying()
        .coalescing()
    return connection
}
