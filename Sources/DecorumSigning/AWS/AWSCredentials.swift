#if Signing
public import Decorum
public import Foundation
import Synchronization

/// The keys of a user or a role of AWS.
///
/// They are a source of themselves. No description and no reflection shows them.
public struct AWSCredentials: Sendable, Hashable, AWSCredentialSource {
    /// The name of the key, which each signature shows.
    public let accessKeyID: String
    let secretAccessKey: String
    let sessionToken: String?
    /// The date at which they expire; nil if they do not, or if it is not known.
    public let expiry: Date?
    /// Whether another process may write others into the file that they are from.
    var isFromFile = false

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - accessKeyID: The name of the key.
    ///   - secretAccessKey: The secret key.
    ///   - sessionToken: The token of temporary credentials; nil for others.
    ///   - expiry: The date at which they expire; nil if they do not.
    /// - Throws: ``SigningError`` for an empty key, and for characters that no key has, such as a line break at its end.
    public init(
        accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil, expiry: Date? = nil
    ) throws(SigningError) {
        let texts = [accessKeyID, secretAccessKey] + (sessionToken.map { [$0] } ?? [])
        guard texts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }),
            !accessKeyID.contains(where: { $0 == "/" || $0 == "," })
        else {
            throw SigningError(
                .noCredentials,
                "A key of the AWS credentials is empty or has characters that no key has. Look for a blank or a line break."
            )
        }
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiry = expiry
    }

    /// Returns these credentials.
    public func credentials() async throws -> AWSCredentials? { self }
}

extension AWSCredentials: SecretHolder {
    /// A fixed text.
    public var description: String { "AWS credentials" }
}

/// A place where credentials of AWS may be found.
///
/// ``AWSCredentialChain`` asks several of them, and keeps the credentials until shortly before they expire.
public protocol AWSCredentialSource: Sendable {
    /// Returns the credentials.
    ///
    /// - Returns: The credentials; nil if this place is not set up on this machine, so that the next one is asked.
    /// - Throws: The reason why a place that is set up gives no credentials.
    nonisolated(nonsending) func credentials() async throws -> AWSCredentials?
}

/// A place of credentials that is set up on this machine and gave none.
///
/// No sentence of it has what the place has answered.
public struct AWSCredentialError: DescribableError, Hashable, TemporaryError {
    /// What failed and what to do.
    public let description: String
    /// Whether a later request may get credentials.
    public let mayPass: Bool

    init(_ description: String, mayPass: Bool = false) {
        self.description = description
        self.mayPass = mayPass
    }

    /// True, since nothing was signed.
    public var meansNotProcessed: Bool { true }
}

/// The credentials in the variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
public struct EnvironmentCredentials: AWSCredentialSource {
    private let environment: AWSEnvironment

    /// Creates a source.
    ///
    /// - Parameter environment: The variables; by default the ones of the process.
    public init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = AWSEnvironment(environment)
    }

    /// Returns the credentials; nil without `AWS_ACCESS_KEY_ID`.
    ///
    /// - Throws: ``SigningError`` if the variables do not fit together.
    public func credentials() async throws -> AWSCredentials? {
        guard let id = environment["AWS_ACCESS_KEY_ID"] else { return nil }
        guard let secret = environment["AWS_SECRET_ACCESS_KEY"] else {
            throw SigningError(
                .noCredentials,
                "AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY. Set both variables, or neither.")
        }
        return try AWSCredentials(
            accessKeyID: id, secretAccessKey: secret, sessionToken: environment["AWS_SESSION_TOKEN"])
    }
}

/// The variables of a process, some of which are secret; an empty one counts as not set.
struct AWSEnvironment: Sendable, SecretHolder {
    private let variables: [String: String]

    init(_ variables: [String: String]) { self.variables = variables }

    subscript(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// All variables, for a program that is started.
    var all: [String: String] { variables }

    /// The region of the process.
    var region: String? { self["AWS_REGION"] ?? self["AWS_DEFAULT_REGION"] }

    var description: String { "variables" }
}

/// Asks several places for credentials of AWS, in their order, and keeps what the first of them gives.
///
/// ```swift
/// let keys = AWSCredentialChain.standard(over: SystemConnection())
/// let signer = SigV4(service: "s3", region: "eu-west-1", credentials: keys)
/// ```
///
/// - However many callers need credentials, they are fetched once. A caller who is cancelled leaves, and the fetch goes on.
/// - They are fetched anew in the background five minutes before they expire, or when a fifth of their time is left, whichever
///   is later; until then and after a failure, those at hand are used to their end.
/// - Those of a file that has no expiry are read again after a minute, since another process may have written others.
/// - After a failure, all callers get its error for one second, twice as long after each further one, up to a minute.
///
/// Share one value between all signers of a process.
public final class AWSCredentialChain: AWSCredentialSource {
    private struct State {
        var held: AWSCredentials?
        var freshUntil: ContinuousClock.Instant?
        var usableUntil: ContinuousClock.Instant?
        var fetch: Task<Void, Never>?
        var failure: (error: any Error, until: ContinuousClock.Instant)?
        var failures = 0
    }

    private enum Step {
        case use(AWSCredentials)
        case wait(Task<Void, Never>)
        case fail(any Error)
    }

    private static let timeLimit = Duration.seconds(90)

    private let sources: [any AWSCredentialSource]
    private let clock: any DatedClock
    private let watch: TimeLimitWatch
    private let spawner: any TaskSpawner
    private let state = Mutex(State())

    /// Creates a chain.
    ///
    /// - Parameters:
    ///   - sources: The places, the first of which is asked first.
    ///   - clock: The clock that has the dates of expiry.
    ///   - spawner: Starts the fetches, which no caller cancels.
    public init(
        _ sources: [any AWSCredentialSource], clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) {
        self.sources = sources
        self.clock = clock
        self.spawner = spawner
        watch = TimeLimitWatch(clock: clock)
    }

    /// Creates the chain of the tools of AWS: the environment, web identity, profile files, the container, the instance.
    ///
    /// - Parameters:
    ///   - connection: Sends to the token service and to the metadata: a transport without a proxy. Layers that follow
    ///     redirections, store, replay, or log without redaction are refused.
    ///   - environment: The variables; by default the ones of the process.
    ///   - clock: The clock that has the dates of expiry; it must be that of the transport.
    ///   - spawner: Starts the fetches, which no caller cancels.
    /// - Returns: The chain.
    public static func standard(
        over connection: some Connection, environment: [String: String] = ProcessInfo.processInfo.environment,
        clock: any DatedClock = SystemClock(), spawner: any TaskSpawner = SystemSpawner()
    ) -> AWSCredentialChain {
        AWSCredentialChain(
            [
                EnvironmentCredentials(environment),
                RemoteCredentials(.webIdentity, over: connection, environment: environment, clock: clock),
                ProfileCredentials(over: connection, environment: environment, clock: clock),
                RemoteCredentials(.container, over: connection, environment: environment, clock: clock),
                RemoteCredentials(.instance, over: connection, environment: environment, clock: clock),
            ], clock: clock, spawner: spawner)
    }

    /// Returns the credentials, and fetches them where needed.
    ///
    /// - Returns: The credentials, never nil.
    /// - Throws: ``SigningError`` if no place has any, the error of the first place that is set up, or `CancellationError`.
    public func credentials() async throws -> AWSCredentials? {
        while true {
            switch state.withLock({ step(&$0) }) {
            case .use(let credentials): return credentials
            case .fail(let error): throw error
            // A caller who is cancelled leaves at once, and the fetch goes on.
            case .wait(let fetch): _ = try await watch.leavableValue(until: nil) { await fetch.value }
            }
        }
    }

    /// The credentials, if they are not to be fetched anew yet.
    var fresh: AWSCredentials? {
        state.withLock { state in
            guard let freshUntil = state.freshUntil else { return state.held }
            return clock.now < freshUntil ? state.held : nil
        }
    }

    private func step(_ state: inout State) -> Step {
        let now = clock.now
        let mayStart = state.fetch == nil && (state.failure.map { $0.until <= now } ?? true)
        if let held = state.held, state.usableUntil.map({ now < $0 }) ?? true {
            if mayStart, let freshUntil = state.freshUntil, freshUntil <= now { state.fetch = start() }
            return .use(held)
        }
        if let fetch = state.fetch { return .wait(fetch) }
        if !mayStart, let failure = state.failure { return .fail(failure.error) }
        let fetch = start()
        state.fetch = fetch
        return .wait(fetch)
    }

    private func start() -> Task<Void, Never> {
        spawner.spawn {
            do { self.finish(.success(try await self.fetched())) } catch { self.finish(.failure(error)) }
        }
    }

    private func fetched() async throws -> AWSCredentials {
        let found = try await watch.value(until: clock.instant(after: Self.timeLimit)) { [sources] in
            for source in sources {
                if let credentials = try await source.credentials() { return credentials }
            }
            throw SigningError(
                .noCredentials,
                "No AWS credentials were found by \(sources.map { String(describing: type(of: $0)) }.joined(separator: ", ")). "
                    + "Set them in the environment, in a profile or in code.")
        }
        guard let found else {
            throw AWSCredentialError("The AWS credentials did not arrive in time. Try again.", mayPass: true)
        }
        return found
    }

    /// Notes the outcome, before the callers wake.
    private func finish(_ result: Result<AWSCredentials, any Error>) {
        let now = clock.now
        let date = clock.date
        state.withLock { state in
            state.fetch = nil
            switch result {
            case .success(let credentials):
                (state.failure, state.failures) = (nil, 0)
                state.held = credentials
                (state.freshUntil, state.usableUntil) = Self.limits(of: credentials, at: date, now: now)
            case .failure(let error):
                let delay = Duration.seconds(1 << min(state.failures, 6))
                state.failures += 1
                state.failure = (error, now + min(delay, .seconds(60)))
            }
        }
    }

    /// The instants until which credentials are not fetched anew, and until which they are used; nil for ever.
    ///
    /// Those that have just been given are used for a minute, whatever their expiry says: their server has no others, or the
    /// clock of this machine is wrong.
    private static func limits(
        of credentials: AWSCredentials, at date: Date, now: ContinuousClock.Instant
    ) -> (freshUntil: ContinuousClock.Instant?, usableUntil: ContinuousClock.Instant?) {
        guard let expiry = credentials.expiry else {
            return (credentials.isFromFile ? now + .seconds(60) : nil, nil)
        }
        let remaining = Duration.seconds(max(60, min(expiry.timeIntervalSince(date), 0x1p31)))
        let lead = min(Duration.seconds(300), remaining / 5)
        return (now + remaining - lead, now + remaining)
    }
}

extension AWSCredentialChain: SecretHolder {
    /// The number of the places.
    public var description: String { "AWS credentials of \(sources.count) sources" }
}
#endif
