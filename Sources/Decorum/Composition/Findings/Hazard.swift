/// A kind of mistake in the order or the settings of layers, as an open set.
///
/// The names are stable, so that an acceptance and a report can refer to them.
public struct Hazard: Sendable, Hashable, CustomStringConvertible {
    /// The name, as it is written in code.
    public let name: String

    /// Creates a custom hazard.
    ///
    /// - Parameter name: The name.
    public init(_ name: String) {
        self.name = name
    }

    /// The name.
    public var description: String { name }

    /// A hazard is accepted that the stack does not have.
    public static let needlessAcceptance = Hazard("needlessAcceptance")
}

/// Credentials and users.
extension Hazard {
    /// A credential that is bound to no origin is added inside of redirections, so that other servers get it.
    public static let credentialsForEveryOrigin = Hazard("credentialsForEveryOrigin")
    /// Credentials are for an origin over `http` that is not this machine.
    public static let unencryptedCredentials = Hazard("unencryptedCredentials")
    /// Relative requests get their origin inside of a layer that needs it.
    public static let originSetTooLate = Hazard("originSetTooLate")
    /// References replace a part of the base URL, such as the version of the API.
    public static let baseURLCut = Hazard("baseURLCut")
    /// A layer that shares responses stands outside of credentials, and no layer sets a principal.
    public static let principalMissing = Hazard("principalMissing")
    /// The principal is set inside of a layer that tells responses apart by it.
    public static let principalSetTooLate = Hazard("principalSetTooLate")
    /// The principal is set for the whole stack, and the credentials further in may be those of another user.
    public static let principalOfChangingUsers = Hazard("principalOfChangingUsers")
    /// Credentials that change are asked for once, outside of retries or waits.
    public static let credentialsOutsideOfRetries = Hazard("credentialsOutsideOfRetries")
}

/// Hosts and cookies.
extension Hazard {
    /// Only the first request of a call is held to a host policy.
    public static let hostPolicyOutsideOfRedirections = Hazard("hostPolicyOutsideOfRedirections")
    /// The host of a request changes after credentials or a stored response were chosen for it.
    public static let hostChangedTooLate = Hazard("hostChangedTooLate")
    /// The cookies of hops are lost, and those of the first URL go on.
    public static let cookiesOutsideOfRedirections = Hazard("cookiesOutsideOfRedirections")
    /// Cookies are added inside of a layer that stores or shares responses.
    public static let cookiesInsideOfCache = Hazard("cookiesInsideOfCache")
    /// A refresh of credentials needs the credentials that it refreshes.
    public static let refreshThroughItself = Hazard("refreshThroughItself")
}

/// Signatures.
extension Hazard {
    /// All attempts carry one signature.
    public static let signatureOutsideOfRetries = Hazard("signatureOutsideOfRetries")
    /// A signature of one URL is sent to another.
    public static let signatureOutsideOfRedirections = Hazard("signatureOutsideOfRedirections")
    /// A signature grows old in a wait.
    public static let signatureOutsideOfWaits = Hazard("signatureOutsideOfWaits")
    /// A request is changed after it was signed.
    public static let signatureOutsideOfChanges = Hazard("signatureOutsideOfChanges")
}

/// Retries.
extension Hazard {
    /// Retries stand around retries.
    public static let retriesMultiply = Hazard("retriesMultiply")
    /// Retries begin again at the first URL of a redirected call.
    public static let retriesOutsideOfRedirections = Hazard("retriesOutsideOfRedirections")
    /// A stale response hides failures from retries.
    public static let retriesOutsideOfCache = Hazard("retriesOutsideOfCache")
    /// A layer that answers in place of the server hides failures from retries.
    public static let retriesOutsideOfAnswers = Hazard("retriesOutsideOfAnswers")
    /// Callers who share one failure retry each on its own.
    public static let retriesOutsideOfSharing = Hazard("retriesOutsideOfSharing")
    /// Requests with unsafe methods are sent again without a key.
    public static let unsafeMethodsRepeated = Hazard("unsafeMethodsRepeated")
    /// Retries draw from no budget.
    public static let retriesWithoutBudget = Hazard("retriesWithoutBudget")
    /// A layer, or several that multiply, may send one call very often.
    public static let manySends = Hazard("manySends")
    /// Each attempt gets an idempotency key of its own.
    public static let keyForEachAttempt = Hazard("keyForEachAttempt")
    /// Each attempt gets an identifier of its own.
    public static let valueForEachAttempt = Hazard("valueForEachAttempt")
    /// A status becomes an error before the layers that react to it.
    public static let statusErrorTooEarly = Hazard("statusErrorTooEarly")
}

/// Time.
extension Hazard {
    /// Retries have no deadline outside of them.
    public static let unlimitedCall = Hazard("unlimitedCall")
    /// The time of a call begins anew with each hop or attempt, or ends a request that others wait for.
    public static let callLimitTooFarIn = Hazard("callLimitTooFarIn")
    /// A layer may let a call wait for more than five minutes.
    public static let longWait = Hazard("longWait")
    /// The time of an attempt limits the whole call.
    public static let attemptLimitOutsideOfRetries = Hazard("attemptLimitOutsideOfRetries")
    /// An attempt may last as long as the whole call.
    public static let attemptLimitAboveCall = Hazard("attemptLimitAboveCall")
    /// Only first attempts wait for the pauses that servers ask for.
    public static let pausesOutsideOfRetries = Hazard("pausesOutsideOfRetries")
    /// Requests that a cache could answer wait for the pauses of servers.
    public static let pausesOutsideOfCache = Hazard("pausesOutsideOfCache")
}

/// Caches and content.
extension Hazard {
    /// Two layers do the same work, one inside of the other.
    public static let layerTwice = Hazard("layerTwice")
    /// A field that a response may depend on is added inside of a cache.
    public static let fieldsInsideOfCache = Hazard("fieldsInsideOfCache")
    /// Content is changed before a cache tells requests apart by it.
    public static let contentChangedOutsideOfCache = Hazard("contentChangedOutsideOfCache")
    /// Requests are shared before a cache could answer each of them.
    public static let sharingOutsideOfCache = Hazard("sharingOutsideOfCache")
    /// A cache stores the response of a redirection's target under the first URL.
    public static let cacheOutsideOfRedirections = Hazard("cacheOutsideOfRedirections")
    /// A cache stores decoded content.
    public static let cacheOutsideOfDecoding = Hazard("cacheOutsideOfDecoding")
    /// A cache stores responses that a layer has changed.
    public static let cacheOutsideOfChanges = Hazard("cacheOutsideOfChanges")
    /// A cache stores answers that no server gave.
    public static let cacheOutsideOfInvention = Hazard("cacheOutsideOfInvention")
    /// Two layers of one stack use the same store.
    public static let stateUsedTwice = Hazard("stateUsedTwice")
}

/// Observation and tests.
extension Hazard {
    /// Secrets are written down as they are.
    public static let secretsRecorded = Hazard("secretsRecorded")
    /// A layer holds content without a limit.
    public static let unboundedMemory = Hazard("unboundedMemory")
    /// An observer of attempts stands outside of retries, so it counts each call as one attempt.
    public static let attemptsUnseen = Hazard("attemptsUnseen")
    /// Attempts are observed, and calls are not.
    public static let callsUnseen = Hazard("callsUnseen")
    /// A cassette records the answers of layers in place of those of the server.
    public static let layersRecorded = Hazard("layersRecorded")
    /// A test waits by the clock of the system.
    public static let testWaits = Hazard("testWaits")
}
