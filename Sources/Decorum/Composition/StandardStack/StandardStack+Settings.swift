extension StandardStack {
    /// The settings of retries; see ``RetryPolicy`` for their meaning.
    public struct Retries: Sendable, Hashable {
        /// The largest number of times that a request is sent again, as far as the budget allows it: ``RetryPolicy/retries``.
        public var maximum: Int
        /// The longest time to wait before the first retry, when the server names no time.
        public var baseDelay: Duration
        /// The limit of the longest time, which doubles with each retry.
        public var maximumDelay: Duration
        /// The part of the longest time that is waited for in any case, from 0 to 1.
        public var certainPart: Double
        /// The longest `Retry-After` to wait for.
        public var maximumRetryAfter: Duration
        /// The budget that allows or refuses each retry.
        public var budget: Budget

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - maximum: The largest number of times that a request is sent again.
        ///   - baseDelay: The longest time to wait before the first retry.
        ///   - maximumDelay: The limit of the longest time.
        ///   - certainPart: The part of the longest time that is waited for in any case.
        ///   - maximumRetryAfter: The longest `Retry-After` to wait for.
        ///   - budget: The budget that allows or refuses each retry.
        public init(
            maximum: Int = 3, baseDelay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(20),
            certainPart: Double = 0, maximumRetryAfter: Duration = .seconds(60), budget: Budget = .shared
        ) {
            self.maximum = maximum
            self.baseDelay = baseDelay
            self.maximumDelay = maximumDelay
            self.certainPart = certainPart
            self.maximumRetryAfter = maximumRetryAfter
            self.budget = budget
        }

        /// A budget that a file can name.
        public enum Budget: String, Sendable, Hashable, CaseIterable {
            /// The budget of the process, ``RetryBudget/shared``.
            case shared
            /// As many retries for each call as ``Retries/maximum`` says, ``RetryBudget/perCall(_:)``.
            case perCall
            /// No budget, ``RetryBudget/unlimited``.
            case unlimited
        }

        var policy: RetryPolicy {
            let budget: RetryBudget =
                switch budget {
                case .shared: .shared
                case .perCall: .perCall(maximum)
                case .unlimited: .unlimited
                }
            return RetryPolicy(
                retries: maximum, baseDelay: baseDelay, maximumDelay: maximumDelay, certainPart: certainPart,
                maximumRetryAfter: maximumRetryAfter, budget: budget)
        }
    }

    /// The settings of the cache; see ``CachingPolicy`` for their meaning.
    public struct Caching: Sendable, Hashable {
        /// The largest number of bytes that the store in memory keeps.
        ///
        /// A store that is passed to the composition has its own limit.
        public var size: Int
        /// The time for which a stale response is used when the server cannot be reached; zero turns it off.
        public var staleIfUnreachable: Duration
        /// The time for which a stale response is used in place of a 500, 502, 503 or 504; zero leaves it to the server.
        public var staleIfError: Duration
        /// The time to wait for the server before a stale response is used; nil to wait.
        public var staleIfSlow: Duration?
        /// The longest time for which a response that names no lifetime is fresh, by its `Last-Modified`; zero, the default,
        /// asks the server each time.
        public var heuristicLimit: Duration

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - size: The largest number of bytes that the store in memory keeps.
        ///   - staleIfUnreachable: The time for which a stale response is used when the server cannot be reached.
        ///   - staleIfError: The time for which a stale response is used in place of a 500, 502, 503 or 504.
        ///   - staleIfSlow: The time to wait for the server before a stale response is used.
        ///   - heuristicLimit: The longest time for which a response that names no lifetime is fresh.
        public init(
            size: Int = 32 << 20, staleIfUnreachable: Duration = .seconds(86_400),
            staleIfError: Duration = .zero, staleIfSlow: Duration? = nil, heuristicLimit: Duration = .zero
        ) {
            self.size = size
            self.staleIfUnreachable = staleIfUnreachable
            self.staleIfError = staleIfError
            self.staleIfSlow = staleIfSlow
            self.heuristicLimit = heuristicLimit
        }

        var policy: CachingPolicy {
            var policy = CachingPolicy.standard
            policy.staleIfUnreachable = staleIfUnreachable
            policy.staleIfError = staleIfError
            policy.staleIfSlow = staleIfSlow
            policy.heuristicLimit = heuristicLimit
            return policy
        }
    }

    /// The settings of redirections.
    public struct Redirects: Sendable, Hashable {
        /// The largest number of redirections to follow for one call.
        public var maximum: Int
        /// The redirections that are followed; the others are returned.
        public var targets: Targets
        /// Whether permanent redirections are followed without asking again, for as long as the connection exists.
        public var remembersPermanent: Bool

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - maximum: The largest number of redirections to follow for one call.
        ///   - targets: The redirections that are followed.
        ///   - remembersPermanent: Whether permanent redirections are followed without asking again.
        public init(maximum: Int = 20, targets: Targets = .all, remembersPermanent: Bool = false) {
            self.maximum = maximum
            self.targets = targets
            self.remembersPermanent = remembersPermanent
        }

        /// A choice of redirections.
        public enum Targets: String, Sendable, Hashable, CaseIterable {
            /// All but those from `https` to `http`, ``RedirectionPolicy/standard``.
            case all
            /// Those within one origin, ``RedirectionPolicy/sameOrigin``.
            case sameOrigin
            /// Those to `https`, ``RedirectionPolicy/httpsOnly``.
            case httpsOnly
        }

        var policy: RedirectionPolicy {
            switch targets {
            case .all: .standard
            case .sameOrigin: .sameOrigin
            case .httpsOnly: .httpsOnly
            }
        }
    }

    /// The settings of a log, in which secrets are redacted.
    public struct Log: Sendable, Hashable {
        /// How much an entry shows.
        public var detail: Detail
        /// The largest number of bytes of each body that an entry shows, with ``Detail/bodies``.
        public var bodyLimit: Int

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - detail: How much an entry shows.
        ///   - bodyLimit: The largest number of bytes of each body that an entry shows, with ``Detail/bodies``.
        public init(_ detail: Detail, bodyLimit: Int = 1024) {
            self.detail = detail
            self.bodyLimit = bodyLimit
        }

        /// One line for each exchange.
        public static let line = Log(.line)
        /// The fields too.
        public static let fields = Log(.fields)
        /// The fields and the first 1024 bytes of each body.
        public static let bodies = Log(.bodies)

        /// How much an entry shows.
        public enum Detail: String, Sendable, Hashable, CaseIterable {
            /// One line.
            case line
            /// The fields too.
            case fields
            /// The fields, and the beginning of the bodies.
            case bodies
        }

        var logDetail: LogDetail {
            switch detail {
            case .line: .line
            case .fields: .fields
            case .bodies: .bodies(upTo: bodyLimit)
            }
        }
    }

    /// The program that sends, as `User-Agent` names it.
    public struct Client: Sendable, Hashable {
        /// The name, without spaces.
        public var name: String
        /// The version; nil for none.
        public var version: String?

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - name: The name, without spaces.
        ///   - version: The version.
        public init(name: String, version: String? = nil) {
            self.name = name
            self.version = version
        }
    }
}
