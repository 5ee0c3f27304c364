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

    /// Creates credentials, with a session token if they are temporary.
    ///
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
        (self.accessKeyID, self.secretAccessKey) = (accessKeyID, secretAccessKey)
        (self.sessionToken, self.expiry) = (sessionToken, expiry)
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

    init(_ description: String, mayPass: Bool = false) { (self.description, self.mayPass) = (description, mayPass) }

    /// True, since nothing was signed.
    public var meansNotProcessed: Bool { true }
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
        /// The instant until which the credentials that are held are used.
        var end: ContinuousClock.Instant?
        /// The instant from which on they are fetched anew.
        var nextFetch: ContinuousClock.Instant?
        var fetch: Task<Void, Never>?
        var failure: (any Error)?
        var failures = 0
    }

    private static let timeLimit = Duration.seconds(90)
    /// Credentials are used for this time at least, and the ones of a file are read again after it.
    ///
    /// A server that gives expired ones has no others, or the clock of this machine is wrong.
    private static let shortest = Duration.seconds(60)

    private let sources: [any AWSCredentialSource]
    private let clock: any DatedClock
    private let watch: TimeLimitWatch
    private let spawner: any TaskSpawner
    private let state = Mutex(State())

    /// Creates a chain of places, the first of which is asked first.
    ///
    /// The clock has the dates of expiry, and must be that of the transport; no caller cancels what the spawner starts.
    public init(
        _ sources: [any AWSCredentialSource], clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) {
        (self.sources, self.clock, self.spawner) = (sources, clock, spawner)
        watch = TimeLimitWatch(clock: clock)
    }

    /// Creates the chain of the tools of AWS: the environment, web identity, profile files, the container, the instance.
    ///
    /// The connection sends to the token service and to the metadata, as in ``MachineCredentials``.
    public static func standard(
        over connection: some Connection, environment: [String: String] = ProcessInfo.processInfo.environment,
        clock: any DatedClock = SystemClock(), spawner: any TaskSpawner = SystemSpawner()
    ) -> AWSCredentialChain {
        let places: [MachineCredentials.Place] = [.environment, .webIdentity, .profile(), .container, .instance]
        return AWSCredentialChain(
            places.map { MachineCredentials($0, over: connection, environment: environment, clock: clock) },
            clock: clock, spawner: spawner)
    }

    /// Returns the credentials, never nil, and fetches them where needed.
    ///
    /// - Throws: ``SigningError`` if no place has any, the error of the first place that is set up, or `CancellationError`.
    public func credentials() async throws -> AWSCredentials? {
        while true {
            if let atHand { return atHand }
            let (fetch, failure) = state.withLock { ($0.fetch, $0.failure) }
            if let fetch {
                // A caller who is cancelled leaves at once, and the fetch goes on.
                _ = try await watch.leavableValue(until: nil) { await fetch.value }
            } else if let failure {
                throw failure
            }
        }
    }

    /// The credentials that need no wait; they are fetched anew in the background if it is time for it.
    var atHand: AWSCredentials? {
        state.withLock { state in
            let now = clock.now
            if state.fetch == nil, state.nextFetch.map({ $0 <= now }) ?? (state.held == nil) { state.fetch = start() }
            return state.end.map { now < $0 } ?? true ? state.held : nil
        }
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
            let names = sources.map { ($0 as? MachineCredentials)?.description ?? "\(type(of: $0))" }
            throw SigningError(
                .noCredentials,
                "No AWS credentials were found by \(names.joined(separator: ", ")). "
                    + "Set them in the environment, in a profile or in code.")
        }
        guard let found else {
            throw AWSCredentialError("The AWS credentials did not arrive in time. Try again.", mayPass: true)
        }
        return found
    }

    /// Notes the outcome, before the callers wake.
    private func finish(_ result: Result<AWSCredentials, any Error>) {
        let (now, date) = (clock.now, clock.date)
        state.withLock { state in
            state.fetch = nil
            switch result {
            case .success(let held):
                state = State(held: held, nextFetch: held.isFromFile ? now + Self.shortest : nil)
                guard let expiry = held.expiry else { return }
                let remaining = max(Self.shortest, .seconds(max(0, min(expiry.timeIntervalSince(date), 0x1p31))))
                state.end = now + remaining
                state.nextFetch = now + remaining - min(.seconds(300), remaining / 5)
            case .failure(let error):
                state.failure = error
                state.nextFetch = now + min(.seconds(1 << min(state.failures, 6)), .seconds(60))
                state.failures += 1
            }
        }
    }
}

extension AWSCredentialChain: SecretHolder {
    /// The number of the places.
    public var description: String { "AWS credentials of \(sources.count) sources" }
}
#endif
