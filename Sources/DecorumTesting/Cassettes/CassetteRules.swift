public import Decorum
public import HTTPTypes

/// How a cassette matches, redacts, records and plays.
///
/// ```swift
/// extension CassetteRules {
///     static let poller = CassetteRules(matching: [.method, .url(ignoring: "ts"), .body], repeats: .last)
/// }
/// ```
public struct CassetteRules: Sendable {
    /// The reaction to a request whose recorded interactions have all been played.
    public enum Repeats: Sendable, Hashable {
        /// The next one is a miss.
        case once
        /// The last one is played again, as a poller needs it.
        case last
    }

    /// In which order requests may come.
    public enum Order: Sendable, Hashable {
        /// Those that do not match each other in any order; those that do, in theirs.
        case any
        /// Just as they were recorded.
        case strict
    }

    /// The reaction to interactions that were never played.
    public enum Unused: Sendable, Hashable {
        /// They fail the test.
        case fail
        /// The test framework shows a warning, where it has such.
        case warn
        /// Nothing.
        case allow
    }

    /// In what form content with a content coding is recorded and matched.
    public enum Content: Sendable, Hashable {
        /// Without its content coding, so that it reads well and its secrets are found.
        case decoded
        /// As it was transferred, which tests the layer that undoes a content coding.
        ///
        /// Nothing in coded content is redacted. What can be decoded is looked through all the same, and is not written
        /// if anything in it would have to be.
        case coded
    }

    /// How fast content is played.
    public enum Timing: Sendable, Hashable {
        /// At once, in the chunks that were recorded.
        case immediate
        /// With the pauses between chunks that were recorded, on the cassette's clock.
        case recorded
        /// With those pauses multiplied.
        case scaled(Double)
    }

    /// In what a request has to agree with a recorded one; the method, the URL and the body.
    public var matching: [MatchingRule]
    /// The values that count as secret when a cassette is written and matched; the standard redaction.
    public var redaction: Redaction
    /// The reaction to a request whose recorded interactions have all been played; the next request is a miss.
    public var repeats: Repeats
    /// In which order requests may come; any.
    public var order: Order
    /// The reaction to interactions that were never played, in ``CassetteMode/replay``; they fail the test.
    public var unused: Unused
    /// How fast content is played; at once.
    public var timing: Timing
    /// In what form content with a content coding, such as gzip, is recorded and matched; decoded.
    ///
    /// What cannot be decoded, such as Brotli, is not recorded: ``Cassette/finish()`` throws, unless the rules ask for
    /// ``Content/coded`` or ``beforeRecording`` makes something else of it.
    public var content: Content
    /// Response fields that are not recorded, since they change each time and tell nothing.
    public var ignoredFields: Set<HTTPField.Name>
    /// The most bytes of one body that are recorded or compared; 64 MiB.
    public var bodyLimit: Int
    /// Texts that may stand in the cassette although they look like secrets, such as a test's own made-up token.
    public var allowedSecrets: [SecretAllowance]
    /// Rewrites an interaction before it is recorded, or keeps it off the cassette by returning nil.
    public var beforeRecording: (@Sendable (Interaction) -> Interaction?)?
    /// Rewrites an interaction before it is matched, or leaves it out by returning nil; a request that comes in passes
    /// through it too, as an interaction that has no response.
    public var beforeMatching: (@Sendable (Interaction) -> Interaction?)?

    /// Creates rules.
    ///
    /// - Parameters:
    ///   - matching: In what a request has to agree with a recorded one.
    ///   - redaction: What counts as secret.
    ///   - repeats: What happens when all that is recorded for a request has been played.
    ///   - order: In which order requests may come.
    ///   - unused: What is made of interactions that were never played.
    ///   - timing: How fast content is played.
    public init(
        matching: [MatchingRule] = [.method, .url, .body], redaction: Redaction = .standard, repeats: Repeats = .once,
        order: Order = .any, unused: Unused = .fail, timing: Timing = .immediate
    ) {
        self.matching = matching
        self.redaction = redaction
        self.repeats = repeats
        self.order = order
        self.unused = unused
        self.timing = timing
        content = .decoded
        ignoredFields = Self.volatileFields
        bodyLimit = 64 << 20
        allowedSecrets = []
    }

    /// A request that came in, as the rules would have it.
    func rewritten(_ request: RecordedRequest) -> RecordedRequest {
        beforeMatching?(Interaction(request: request))?.request ?? request
    }

    private static let volatileFields = Set(
        [
            "Alt-Svc", "CF-Ray", "NEL", "Report-To", "Reporting-Endpoints", "Server-Timing", "X-Amz-Cf-Id",
            "X-Amz-Request-Id", "X-Amzn-Trace-Id", "X-GitHub-Request-Id", "X-Request-Id", "X-Runtime", "X-Timer",
        ].compactMap { HTTPField.Name($0) })
}
