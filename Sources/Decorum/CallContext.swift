import Synchronization

/// What the attempts of one call share.
final class CallContext: Sendable {
    let id: UInt64
    private let count = Atomic(0)

    init(id: UInt64) {
        self.id = id
    }

    /// The number of attempts so far.
    var attempts: Int { count.load(ordering: .relaxed) }

    func nextAttempt() -> Int {
        count.wrappingAdd(1, ordering: .relaxed).newValue
    }
}

extension RequestOptions {
    /// What the events of the call that this request belongs to have in common; nil where no layer observes calls.
    public var callID: UInt64? { callContext?.id }

    /// The number of this attempt within its call, from 1; nil where no layer observes attempts.
    public var attemptNumber: Int? { attempt }

    mutating func beginAttempt(of call: CallContext) -> Int {
        let number = call.nextAttempt()
        attempt = number
        return number
    }
}
