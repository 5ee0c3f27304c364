extension Layer {
    /// The purpose of a layer in the stack, as an open set.
    public struct Role: Sendable, Hashable {
        /// The name of the role.
        public let name: String

        /// Creates a custom role.
        ///
        /// - Parameter name: The name of the role.
        public init(_ name: String) {
            self.name = name
        }

        /// Sends over a network, or replaces a network in tests.
        public static let transport = Role("transport")
        /// Changes requests before they are sent.
        public static let preparation = Role("preparation")
        /// Follows redirections.
        public static let redirection = Role("redirection")
        /// Decides which hosts requests may reach, and over which scheme.
        public static let hostPolicy = Role("host policy")
        /// Keeps the cookies of answers, and adds them to requests.
        public static let cookies = Role("cookies")
        /// Answers from stored responses.
        public static let caching = Role("caching")
        /// Sends again, or limits the number or the duration of attempts.
        public static let resilience = Role("resilience")
        /// Adds credentials.
        public static let authentication = Role("authentication")
        /// Observes without changing anything.
        public static let observation = Role("observation")
        /// Decides whether a response is acceptable.
        public static let validation = Role("validation")
        /// Has no stated purpose.
        public static let other = Role("other")
    }
}
