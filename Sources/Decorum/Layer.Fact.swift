extension Layer {
    /// An effect of a layer that other layers have to know, as an open set.
    public struct Fact: Sendable, Hashable {
        /// The name of the fact.
        public let name: String

        /// Creates a custom fact.
        ///
        /// - Parameter name: The name of the fact.
        public init(_ name: String) {
            self.name = name
        }

        /// Adds credentials, so that a response may be meant for one principal only.
        public static let addsCredentials = Fact("adds credentials")
        /// Sends its credentials only to the origins that they were given for, also after a redirection.
        public static let bindsToOrigins = Fact("binds to origins")
        /// Signs parts of a request, so that no layer further in may change them, repeat them or let them wait.
        public static let signs = Fact("signs")
        /// Names the user of requests that name none, so that layers further in may store and share their responses.
        public static let setsPrincipal = Fact("sets the principal")

        /// May send a request more than once.
        public static let resends = Fact("resends")
        /// May answer without forwarding the request.
        public static let answers = Fact("answers")
        /// May answer with a response that no server gave, such as a default value without a connection.
        public static let inventsAnswers = Fact("invents answers")
        /// May let a request wait before it is sent.
        public static let waits = Fact("waits")
        /// Lets a request with a deadline wait until then, also for longer than ``Layer/longestWait``.
        public static let waitsUntilDeadline = Fact("waits until the deadline")

        /// Changes parts of a request that a signature may cover.
        ///
        /// The fact only informs the reader of the stack and does not change the order: a signature covers the change
        /// only where the signing layer is further in.
        public static let changesSignedParts = Fact("changes signed parts")
        /// Changes the content of requests, so that a digest of it has to be made further in.
        public static let changesContent = Fact("changes content")
        /// May send something different each time that it sends an equal request, such as a time or a random number.
        public static let variesPerSend = Fact("varies per send")
        /// Undoes the content codings of responses, so that layers further out do not see the bytes that came.
        public static let decodesContent = Fact("decodes content")
        /// Changes the status or the fields of responses.
        public static let changesResponse = Fact("changes the response")

        /// Reads the clock, so that what it sends or answers depends on the time.
        public static let readsClock = Fact("reads the clock")
        /// Writes requests or responses to a place outside of memory.
        public static let records = Fact("records")
        /// Hides secrets in what it records.
        public static let redacts = Fact("redacts")
    }
}
