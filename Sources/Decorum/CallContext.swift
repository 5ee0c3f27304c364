import Synchronization

/// The state that all attempts of one call share.
final class CallContext: Sendable {
    let id: UInt64
    private let count = Atomic(0)
    private let retryCount = Atomic(0)
    private let resolvedOrigin = Mutex<Origin?>(nil)

    init(id: UInt64) {
        self.id = id
    }

    /// The number of attempts so far.
    var attempts: Int { count.load(ordering: .relaxed) }

    /// The number of retries so far, of all its requests.
    var retries: Int { retryCount.load(ordering: .relaxed) }

    func addRetry() {
        retryCount.wrappingAdd(1, ordering: .relaxed)
    }

    /// The origin that a layer further in has given to the relative request of the call; nil where none did so yet.
    var origin: Origin? { resolvedOrigin.withLock { $0 } }

    func resolve(to origin: Origin) {
        resolvedOrigin.withLock { $0 = $0 ?? origin }
    }

    func nextAttempt() -> Int {
        count.wrappingAdd(1, ordering: .relaxed).newValue
    }
}

extension RequestOptions {
    /// The identifier that all events of this request's call share; nil where no layer observes calls.
    public var callID: UInt64? { callContext?.id }

    /// The number of this attempt within its call, from 1; nil where no layer observes attempts.
    public var attemptNumber: Int? { attempt }

    mutating func beginAttempt(of call: CallContext) -> Int {
        let number = call.nextAttempt()
        attempt = number
        return number
    }
}
