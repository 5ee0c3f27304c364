extension StandardStack {
    /// The times of a call, of its attempts, and of bodies; of those that are nil, there is no limit.
    public struct Times: Sendable, Hashable {
        /// The time of a call, with all attempts and waits, and with a body that is read whole: ``TimePolicy/call``.
        public var call: Duration?
        /// The time until the head of one attempt's response is there: ``AttemptTimePolicy/head``.
        public var attempt: Duration?
        /// The time until the body of the response is there, also where the caller streams it: ``TimePolicy/body``.
        public var body: Duration?
        /// The idle timeout of a request that has none: ``TimePolicy/idle``.
        public var idle: Duration?

        /// Creates times; without arguments, those of ``TimePolicy/interactive``.
        ///
        /// - Parameters:
        ///   - call: The time of a call, with all attempts and waits, and with a body that is read whole.
        ///   - attempt: The time until the head of one attempt's response is there.
        ///   - body: The time until the body of the response is there, from the start of the call.
        ///   - idle: The idle timeout of a request that has none.
        public init(
            call: Duration? = .seconds(30), attempt: Duration? = .seconds(10), body: Duration? = nil,
            idle: Duration? = .seconds(15)
        ) {
            self.call = call
            self.attempt = attempt
            self.body = body
            self.idle = idle
        }
    }
}
