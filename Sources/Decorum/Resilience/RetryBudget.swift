import HTTPTypes
import Synchronization

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
/// A second request of `hedging`, in `DecorumTraffic`, takes a retry too, so that both together stay within the budget.
///
/// Without a retry in the account, the call ends with the outcome that it has. Its ``CallContext/history`` says so. A
/// request is sent again once without the budget where the server has certainly not processed it
/// (``TransportError/isUnprocessed``), and where its used connection was lost before the first byte of the response and it
/// may be sent twice (``TransportError/hasLostReusedConnection``). Nothing is kept across launches.
public struct RetryBudget: Sendable, Hashable {
    let kind: Kind

    enum Kind: Sendable, Hashable {
        /// The budget of the process, or that of the layer if its clock is not the system's.
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

extension RetryBudget {
    /// Takes a retry for a second request that is sent while the first is still under way, if there is one.
    ///
    /// An account from which nothing was retried or answered has no say, so a layer of such requests has a limit of its own.
    package func takeHedge(
        for request: HTTPRequest, at now: ContinuousClock.Instant, on clock: any DatedClock
    ) -> Bool {
        switch kind {
        case .process: !(clock is SystemClock) || RetryAccounts.ofProcess.takeHedge(for: request, at: now)
        case .accounts(let accounts): accounts.takeHedge(for: request, at: now)
        case .perCall(let retries): retries > 0
        case .unlimited: true
        }
    }

    /// The accounts that layers with this budget share on a clock; nil if they share none.
    package func sharedState(on clock: any DatedClock) -> Layer.StateIdentity? {
        switch kind {
        case .process: clock is SystemClock ? .init(RetryAccounts.ofProcess) : nil
        case .accounts(let accounts): .init(accounts)
        case .perCall, .unlimited: nil
        }
    }
}

extension RetryBudget: Codable {
    /// Reads `"shared"`, `"unlimited"` or the number of retries of each call.
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let retries = try? value.decode(Int.self) {
            self = .perCall(retries)
            return
        }
        switch try value.decode(String.self) {
        case "shared": self = .shared
        case "unlimited": self = .unlimited
        default:
            throw DecodingError.dataCorruptedError(
                in: value, debugDescription: "A budget is `shared`, `unlimited` or a number of retries.")
        }
    }

    /// Writes the budget; throws `EncodingError` for one that is not the budget of the process or of each call.
    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch kind {
        case .process, .unlimited: try value.encode(description)
        case .perCall(let retries): try value.encode(retries)
        case .accounts:
            throw EncodingError.invalidValue(
                self,
                .init(codingPath: encoder.codingPath, debugDescription: "A separate budget exists in memory only."))
        }
    }
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

/// The accounts of a budget, one for each origin.
///
/// One account for all origins would let the answers of one server pay for the retries to another.
final class RetryAccounts: Sendable {
    // Swift has no other place for a value of the whole process, which is what the budget of a process is.
    static let ofProcess = RetryAccounts()

    /// The number of origins with an account; the account that was used least recently is dropped.
    static let limit = 256

    fileprivate struct State: ~Copyable {
        var accounts: [RetryAccount] = []
        var places: [Origin?: Int] = [:]
        /// The account of the last request, and the parts of its URL: most requests go to the origin of the last one.
        var last = 0
        var lastScheme: String?
        var lastAuthority: String?
    }

    private let state = Mutex(State())

    /// Notes an answer that needs no retry; `isNewCall` says whether it is the first outcome of its call.
    func noteAnswer(to request: borrowing HTTPRequest, at now: ContinuousClock.Instant, isNewCall: Bool) {
        // A closure that captures the whole head copies all of its fields.
        let (scheme, authority) = (request.scheme, request.authority)
        state.withLock { state in
            let index = state.place(scheme: scheme, authority: authority, at: now)
            state.accounts[index].noteAnswer(at: now, isNewCall: isNewCall)
        }
    }

    /// Takes a retry, if there is one; returns the reason of a refusal, or nil if the retry was taken.
    func take(
        for request: HTTPRequest, at now: ContinuousClock.Instant, isNewCall: Bool, mayBeWorking: Bool
    ) -> RetryRefusal? {
        let (scheme, authority) = (request.scheme, request.authority)
        return state.withLock { state in
            let index = state.place(scheme: scheme, authority: authority, at: now)
            return state.accounts[index].take(at: now, isNewCall: isNewCall, mayBeWorking: mayBeWorking)
        }
    }

    fileprivate func takeHedge(for request: HTTPRequest, at now: ContinuousClock.Instant) -> Bool {
        let (scheme, authority) = (request.scheme, request.authority)
        return state.withLock { state in
            let index = state.place(scheme: scheme, authority: authority, at: now)
            return state.accounts[index].takeHedge(at: now)
        }
    }
}

extension RetryAccounts: Hashable {
    static func == (left: RetryAccounts, right: RetryAccounts) -> Bool { left === right }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension RetryAccounts.State {
    mutating func place(scheme: String?, authority: String?, at now: ContinuousClock.Instant) -> Int {
        if last < accounts.count, lastAuthority == authority, lastScheme == scheme { return last }
        let head = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: nil)
        let origin = try? Origin(head)
        last = places[origin] ?? open(for: origin, at: now)
        (lastScheme, lastAuthority) = (scheme, authority)
        return last
    }

    private mutating func open(for origin: Origin?, at now: ContinuousClock.Instant) -> Int {
        let account = RetryAccount(origin: origin, openedAt: now)
        guard accounts.count >= RetryAccounts.limit,
            let oldest = accounts.indices.min(by: { accounts[$0].lastUse < accounts[$1].lastUse })
        else {
            accounts.append(account)
            places[origin] = accounts.count - 1
            return accounts.count - 1
        }
        places[accounts[oldest].origin] = nil
        accounts[oldest] = account
        places[origin] = oldest
        return oldest
    }
}

/// The retries that may still be made to one origin.
///
/// The unit is a fifth of a retry, so that an answer adds 1 and a retry costs 5.
struct RetryAccount: Sendable {
    let origin: Origin?
    private(set) var lastUse: ContinuousClock.Instant
    private var fifths = cost
    private var calls: RecentCalls
    private var lastAnswer: ContinuousClock.Instant?

    private static let cost = 5
    private static let largestHolding = 50
    /// The time after an answer in which a request that has timed out may be sent again.
    static let timeOfTrust = Duration.seconds(30)

    init(origin: Origin?, openedAt now: ContinuousClock.Instant) {
        self.origin = origin
        lastUse = now
        calls = RecentCalls(since: now)
    }

    mutating func noteAnswer(at now: ContinuousClock.Instant, isNewCall: Bool) {
        note(at: now, isNewCall: isNewCall)
        lastAnswer = now
        fifths = min(fifths + 1, limit)
    }

    mutating func take(at now: ContinuousClock.Instant, isNewCall: Bool, mayBeWorking: Bool) -> RetryRefusal? {
        note(at: now, isNewCall: isNewCall)
        fifths = min(fifths, limit)
        guard fifths >= Self.cost else { return .emptyBudget }
        if mayBeWorking, !isTrusted(at: now) { return .noRecentAnswer }
        fifths -= Self.cost
        return nil
    }

    mutating func takeHedge(at now: ContinuousClock.Instant) -> Bool {
        note(at: now, isNewCall: false)
        guard lastAnswer != nil || calls.count > 0 else { return true }
        fifths = min(fifths, limit)
        guard fifths >= Self.cost else { return false }
        fifths -= Self.cost
        return true
    }

    private func isTrusted(at now: ContinuousClock.Instant) -> Bool {
        lastAnswer.map { now - $0 <= Self.timeOfTrust } ?? false
    }

    /// A fifth of the calls of the last 10 seconds, in fifths.
    private var limit: Int { max(Self.cost, min(calls.count, Self.largestHolding)) }

    private mutating func note(at now: ContinuousClock.Instant, isNewCall: Bool) {
        lastUse = now
        calls.move(to: now)
        if isNewCall { calls.add() }
    }
}

/// The number of calls in the last 10 seconds, to the second.
struct RecentCalls: Sendable {
    private let start: ContinuousClock.Instant
    private var second: Int64 = 0
    /// The end of the second; comparing it costs much less than a division of durations.
    private var end: ContinuousClock.Instant
    private var counts = [Int](repeating: 0, count: 10)
    private(set) var count = 0

    init(since start: ContinuousClock.Instant) {
        self.start = start
        end = start + .seconds(1)
    }

    mutating func move(to now: ContinuousClock.Instant) {
        guard now >= end else { return }
        let current = (now - start).components.seconds
        for passed in 1...min(current - second, Int64(counts.count)) {
            let index = Int((second + passed) % Int64(counts.count))
            count -= counts[index]
            counts[index] = 0
        }
        second = current
        end = start + .seconds(current + 1)
    }

    mutating func add() {
        counts[Int(second % Int64(counts.count))] += 1
        count += 1
    }
}
