/// The retries that all calls together may make, so that the retries of many clients do not keep a server overloaded.
///
/// A retry takes one from the account of its origin. An account starts with 1; each answer that needs no retry adds 0.2.
/// It holds no more than a fifth of the calls of the last 10 seconds, and at least 1 and at most 10. So a single
/// failure is retried. While a server is overloaded, the retries end, and all clients together send few more requests
/// than they have calls.
///
/// After a timeout, a server may still be working on the request. Such a request is sent again only where the origin
/// has given an answer within the last 30 seconds, so that a fleet of clients with a call every few minutes lets an
/// overloaded server recover too.
///
/// Without a retry in the account, the call ends with the outcome that it has. Its ``CallContext/history`` says so. A
/// request is sent again once without the budget where the server has certainly not processed it
/// (``TransportError/isUnprocessed``), and where its used connection was lost before the first byte of the response and it
/// may be sent twice (``TransportError/hasLostReusedConnection``). Nothing is kept across launches.
public struct RetryBudget: Sendable, Hashable {
    let kind: Kind

    enum Kind: Sendable, Hashable {
        /// That of the process, or that of the layer where its clock is not the system's.
        case process
        case accounts(RetryAccounts)
        case perCall(Int)
        case unlimited
    }

    private init(_ kind: Kind) {
        self.kind = kind
    }

    /// Creates a separate budget, which all stacks share that get this value.
    public init() {
        kind = .accounts(RetryAccounts())
    }

    /// The budget that all stacks of the process share; the default.
    ///
    /// A layer whose clock is not ``SystemClock``, as in a test, has a budget of its own instead.
    public static let shared = RetryBudget(.process)

    /// No budget, for a client that is alone with its server, and for tests.
    public static let unlimited = RetryBudget(.unlimited)

    /// Retries of each call's own, for a tool whose calls are few.
    ///
    /// - Parameter retries: The number of retries of each call, and of each hop of a redirected call.
    /// - Returns: The budget.
    public static func perCall(_ retries: Int) -> RetryBudget { RetryBudget(.perCall(retries)) }
}

extension RetryBudget: CustomStringConvertible {
    /// The kind of the budget.
    public var description: String {
        switch kind {
        case .process: "shared"
        case .accounts: "its own"
        case .perCall(let retries): "\(retries) per call"
        case .unlimited: "unlimited"
        }
    }
}
