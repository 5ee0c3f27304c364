extension CallReport {
    /// One request of a call that was sent.
    public struct Attempt: Sendable, Hashable, Codable {
        /// Why a request was sent, as an open set.
        public struct Reason: Sendable, Hashable, TextCodable {
            /// The name of the reason, suitable for a metric.
            public let description: String

            init(_ description: String) {
                self.description = description
            }

            /// The call has begun.
            public static let first = Reason("first")
            /// The attempt before failed, and the failure may have passed.
            public static let retry = Reason("retry")
            /// A server has redirected the request.
            public static let redirection = Reason("redirection")
            /// A layer has changed the request after its answer, such as its credentials.
            public static let resend = Reason("resend")
            /// Another reason, such as a hedge or a background validation.
            public static let other = Reason("other")
        }

        /// Why it was sent.
        public var reason: Reason
        /// The time that layers waited before it, in a queue or as they had decided.
        public var wait = Duration.zero
        /// The time since the call began; nil if it is not known.
        public var start: Duration?
        /// The time from its start until the layer that sent it decided about its outcome, or until the end of the call, which
        /// an observer alone knows; nil if it is not known.
        public var duration: Duration?
        /// The origin that it was sent to; nil if it is not known.
        public var origin: Origin?
        /// Its outcome in a few words, as in `503 with Retry-After 2`; nil if it is not known.
        public var outcome: String?

        /// Creates an attempt.
        public init(_ reason: Reason, after wait: Duration = .zero, outcome: String? = nil) {
            (self.reason, self.wait, self.outcome) = (reason, wait, outcome)
        }
    }
}

extension CallReport.Attempt {
    /// The attempts that decisions tell, in order; the one that the outcome belongs to gets it.
    ///
    /// A decision that names an outcome ends an attempt. Without transports that tell what they send, each of them stands for
    /// an attempt of its own.
    static func list(
        of decisions: [CallDecision], endingWith outcome: String?, after duration: Duration? = nil
    ) -> [Self] {
        var attempts: [Self] = []
        var next = Self(.first)
        /// The moment since when a layer waits for a time that it did not know.
        var queued: Duration?
        /// The place of the attempt that has a hedge, and then of the one whose answer counts, if it is not the last.
        var (hedged, winner): (Int?, Int?)
        func end(with outcome: String?, at time: Duration?) {
            if attempts.last.map({ $0.outcome != nil }) ?? true { attempts.append(next) }
            let place = winner.take() ?? attempts.count - 1
            attempts[place].outcome = outcome
            if let time, let start = attempts[place].start { attempts[place].duration = time - start }
        }
        for decision in decisions {
            if decision.kind == .sends {
                (next.start, next.origin) = (decision.time, decision.origin)
                if let since = queued.take(), let time = decision.time {
                    next.wait = (next.wait + time - since).bounded
                }
                attempts.append(next)
                next = Self(.other)
                continue
            }
            if let outcome = decision.outcome {
                end(with: outcome, at: decision.time)
                queued = nil
            }
            switch decision.kind {
            case .redirects: next = Self(.redirection)
            case .resends where decision.outcome == nil: (next, hedged) = (Self(.other), attempts.indices.last)
            case .resends: next = Self(.resend)
            case .answers where decision.winner == 1: winner = hedged
            case .waits where decision.outcome != nil: next = Self(.retry, after: decision.delay ?? .zero)
            case .waits where queued == nil:
                if let delay = decision.delay {
                    next.wait = (next.wait.bounded + delay.bounded).bounded
                } else {
                    queued = decision.time
                }
            default: break
            }
        }
        if !attempts.isEmpty, let outcome { end(with: outcome, at: duration) }
        return attempts
    }
}
