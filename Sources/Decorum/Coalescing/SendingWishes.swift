/// The options that decide how a request is sent and how long its caller waits, where one of them is set.
///
/// Requests are shared only with equal ones. It is a class, since most requests have none.
final class SendingWishes: Sendable, Equatable {
    private struct Values: Equatable {
        // A caller must not wait for longer than for a request of the caller's own. Since all callers of a shared request
        // have the same, it need not be left out of the request either.
        var idleTimeout: Duration?
        var timePolicy: TimePolicy?
        var attemptTimePolicy: AttemptTimePolicy?
        var retryPolicy: RetryPolicy?
        var skipsAuthentication = false
        var keepsContentCoding = false
        // Two rules cannot be compared, so policies are told apart by their names.
        var redirectionPolicy: String?
        var networkAccess = NetworkAccess()

        init() {}

        init(_ options: borrowing RequestOptions) {
            idleTimeout = options.idleTimeout
            timePolicy = options.timePolicy
            attemptTimePolicy = options.attemptTimePolicy
            retryPolicy = options.retryPolicy
            skipsAuthentication = options.skipsAuthentication
            keepsContentCoding = options.keepsContentCoding
            redirectionPolicy = options.redirectionPolicy?.description
            networkAccess = options.networkAccess
        }
    }

    private let values: Values

    var idleTimeout: Duration? { values.idleTimeout }

    private init(_ values: Values) {
        self.values = values
    }

    /// Collects the wishes; returns nil where none is set.
    static func of(_ options: borrowing RequestOptions) -> SendingWishes? {
        guard !options.values.isEmpty else { return nil }
        let values = Values(options)
        return values == Values() ? nil : SendingWishes(values)
    }

    static func == (lhs: SendingWishes, rhs: SendingWishes) -> Bool { lhs.values == rhs.values }
}
