extension Layer {
    /// An effect of a layer that other layers have to know, as an open set.
    public struct Fact: Sendable, Hashable {
        /// The name of the fact, as code spells it.
        public let name: String

        /// Creates a custom fact.
        ///
        /// - Parameter name: The name of the fact.
        public init(_ name: String) {
            self.name = name
        }

        /// Adds credentials, so that a response may be meant for one principal only.
        public static let addsCredentials = Fact("addsCredentials")
        /// May add credentials, which nothing declares, as a closure that computes fields.
        package static let mayAddCredentials = Fact("mayAddCredentials")
        /// Sends its credentials only to the origins that they were given for, also after a redirection.
        public static let bindsToOrigins = Fact("bindsToOrigins")
        /// Is bound to an origin over `http` that is not this machine, where others could read the credentials.
        package static let sendsUnencryptedCredentials = Fact("sendsUnencryptedCredentials")
        /// Allows layers further in to send credentials without encryption.
        package static let allowsUnencryptedCredentials = Fact("allowsUnencryptedCredentials")
        /// Signs parts of a request, so that no layer further in may change them, repeat them or let them wait.
        public static let signs = Fact("signs")
        /// Names the user of requests that name none, so that layers further in may store and share their responses.
        public static let setsPrincipal = Fact("setsPrincipal")
        /// May add the credentials of another user to each request, whatever the principal of the request is.
        public static let changesUsers = Fact("changesUsers")

        /// May send a request more than once.
        public static let resends = Fact("resends")
        /// Sends requests with unsafe methods again, such as `POST`, although the server may have carried them out.
        public static let repeatsUnsafeMethods = Fact("repeatsUnsafeMethods")
        /// Sends again without a budget, which would end the retries while a server is overloaded.
        package static let resendsWithoutBudget = Fact("resendsWithoutBudget")
        /// May answer without forwarding the request.
        public static let answers = Fact("answers")
        /// May answer with a response that no server gave, such as a default value without a connection.
        public static let inventsAnswers = Fact("inventsAnswers")
        /// May throw in place of sending, as a circuit breaker does.
        public static let refuses = Fact("refuses")
        /// Gives a response to other requests than the one that it answered, and tells their users apart by the principal.
        public static let sharesResponses = Fact("sharesResponses")
        /// May let a request wait before it is sent.
        public static let waits = Fact("waits")
        /// Lets a request with a deadline wait until then, also for longer than ``Layer/Time/waiting``.
        package static let waitsUntilDeadline = Fact("waitsUntilDeadline")
        /// Gives the ``Layer/Time/limit`` to each attempt, or to the whole call if it stands outside of the attempts.
        package static let limitsAttempts = Fact("limitsAttempts")

        /// Changes parts of a request that a signature may cover.
        ///
        /// The fact does not change the order: a signature covers the change only where the signing layer is further in, and
        /// the check of a stack finds one that is not.
        public static let changesSignedParts = Fact("changesSignedParts")
        /// Gives an origin to requests that have none, so that layers further out do not know it.
        public static let setsOrigin = Fact("setsOrigin")
        /// Leaves out a part of its base URL where it resolves a reference: the last segment of the path, or the query.
        package static let cutsBaseURL = Fact("cutsBaseURL")
        /// Adds a value by which the server recognizes a call, so that all of its attempts have to have the same one.
        public static let identifiesCalls = Fact("identifiesCalls")
        /// Makes requests with unsafe methods safe to send again, as an `Idempotency-Key` does.
        public static let makesIdempotent = Fact("makesIdempotent")
        /// Changes the content of requests, so that a digest of it has to be made further in.
        public static let changesContent = Fact("changesContent")
        /// May send something different each time that it sends an equal request, such as a time or a random number.
        public static let variesPerSend = Fact("variesPerSend")
        /// Undoes the content codings of responses, so that layers further out do not see the bytes that came.
        public static let decodesContent = Fact("decodesContent")
        /// Changes the status, the fields or the content of responses.
        public static let changesResponse = Fact("changesResponse")
        /// Decides by the status of responses, so that no layer further in may turn a status into an error.
        public static let readsStatus = Fact("readsStatus")

        /// Reads the clock of the system, so that what it sends or answers depends on the time; a layer with another clock
        /// does not declare it.
        public static let readsClock = Fact("readsClock")
        /// Counts or times attempts, so that it belongs inside of the layers that send again.
        package static let observesAttempts = Fact("observesAttempts")
        /// Writes requests or responses to a place outside of memory.
        public static let records = Fact("records")
        /// Writes the fields of requests and responses too.
        public static let recordsFields = Fact("recordsFields")
        /// Hides secrets in what it records.
        public static let redacts = Fact("redacts")
    }

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
