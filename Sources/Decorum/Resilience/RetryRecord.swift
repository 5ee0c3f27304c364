/// The attempts of a request before its last one.
struct RetryRecord: Sendable, Equatable {
    /// The outcomes in a few words each, as in "503"; at most ten.
    private(set) var outcomes: [String] = []
    /// The time that was waited between the attempts.
    private(set) var waited = Duration.zero
    /// The time from the start of the first attempt to the last outcome.
    var elapsed: Duration?

    private static let limit = 10

    /// Adds an attempt, and the wait after it.
    mutating func add(_ outcome: String, thenWaiting wait: Duration) {
        waited += wait
        if outcomes.count < Self.limit { outcomes.append(outcome) }
    }
}

/// A retry that is about to be sent, for the log of attempts.
struct RetryNumber: Sendable {
    /// The number of the attempt, from 2.
    let attempt: Int
    /// The largest number that the policy allows.
    let limit: Int
    /// The outcome of the attempt before.
    let outcome: String
    /// The wait before this one.
    let wait: Duration
}

extension RetryNumber: CustomStringConvertible {
    var description: String {
        let waited = wait > .zero ? ", waited \(wait.shortText)" : ""
        return "attempt \(attempt) of \(max(limit, attempt)), after \(outcome)\(waited)"
    }
}

extension RequestOptions {
    /// The retry that this request is; nil for a first attempt.
    var retryNumber: RetryNumber? {
        get { values.isEmpty ? nil : self[RetryNumberKey.self] }
        set { self[RetryNumberKey.self] = newValue }
    }
}

extension Response {
    /// The response with the reason why the request was not sent again, for the description of a ``StatusError``.
    consuming func refusedRetry(because refusal: RetryRefusal) -> Response {
        // The number of attempts shows by itself that all retries were used.
        if case .retriesUsed = refusal { return self }
        metadata.retryRefusal = refusal.description
        return self
    }
}

extension TransportError {
    /// The error with the reason why the request was not sent again.
    static func refusedRetry(_ error: any Error, because refusal: RetryRefusal) -> any Error {
        if case .retriesUsed = refusal { return error }
        guard var error = error as? TransportError else { return error }
        error.retryRefusal = refusal.description
        return error
    }
}

extension ResponseMetadata {
    /// The reason why `retrying` returned a response after which it would otherwise send the request again; nil for none.
    var retryRefusal: String? {
        get { self[RetryRefusalKey.self] }
        set { self[RetryRefusalKey.self] = newValue }
    }

    /// The attempts before the one with this response; nil where there were none.
    var retryRecord: RetryRecord? {
        get { self[RetryRecordKey.self] }
        set { self[RetryRecordKey.self] = newValue }
    }

    /// How often a request of the chain was sent, without the hops of redirections.
    var tries: Int { attempts - (redirects.count - recalledRedirects) }
}

private enum RetryRefusalKey: ResponseMetadataKey {
    static let defaultValue: String? = nil
}

private enum RetryRecordKey: ResponseMetadataKey {
    static let defaultValue: RetryRecord? = nil
}

// It describes one attempt, so the layer that sends the next one replaces it.
private enum RetryNumberKey: RequestOptionKey {
    static let defaultValue: RetryNumber? = nil
    static let travels: OptionTravel = []
}
