import Decorum

struct ResilienceListings {
    func retrying() {
        let connection = URLSessionConnection()
            .retrying(RetryPolicy(retries: 2))
        _ = connection
    }

    func retryPolicy() {
        let patient = RetryPolicy(retries: 5, maximumRetryAfter: .seconds(300))
        _ = patient
    }
}
