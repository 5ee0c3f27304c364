public import Decorum
import Foundation
import Synchronization

/// The token of one user, which is replaced once for all requests that need a new one.
///
/// - A token is replaced in the background shortly before it expires, and when a server rejects it.
/// - However many callers need a new token, one refresh is sent, by all processes that share the store together. It goes on
///   when the caller who caused it is cancelled.
/// - The user is signed out only if the authorization server says `invalid_grant` about the very refresh token that the
///   store holds. After every other failure the token is kept, and no caller sends a further refresh until
///   ``TokenRefreshError/earliestRetry``: for half a second to a second, twice as long after each further failure, up to five
///   minutes, or as long as `Retry-After` says within them.
/// - What another process does with the store counts here too. After it has signed the user out, or another user in, the
///   requests that are under way end with ``SignedOutError``, and no request is sent with the old token. A token that no
///   refresh by `Tokens` has put into the store counts as that of another user.
///
/// A process that is ended between the server's answer and the write to the store leaves a refresh token that a server with
/// rotation no longer accepts. The next refresh then gets `invalid_grant`, the token is removed, and each call
/// throws ``SignedOutError`` without a further request.
///
/// Share one value between all stacks of a process that send for the same user.
public final class Tokens: Sendable {
    let store: any TokenStore
    let source: any TokenSource
    let servesOneUser: Bool
    let policy: RefreshPolicy
    let clock: any DatedClock
    let generator: any RandomGenerator
    private let spawner: any TaskSpawner
    let watch: TimeLimitWatch
    private let state = Mutex(TokenState())
    private let following = Mutex<Task<Void, Never>?>(nil)

    /// Creates the tokens of a user.
    ///
    /// - Parameters:
    ///   - store: Keeps the token.
    ///   - source: Gets new tokens, through a stack of its own.
    ///   - servesOneUser: Whether all tokens are of one user, so that a stack with these tokens may have a fixed principal.
    ///   - policy: When a new token is got, and how long to wait after a failure.
    ///   - clock: The clock that has the dates of expiry; it must be that of the stacks that use the tokens.
    ///   - generator: The source of the random parts of waits.
    ///   - spawner: Starts the refreshes, which no caller cancels.
    public init(
        in store: some TokenStore, from source: some TokenSource, servesOneUser: Bool = false,
        policy: RefreshPolicy = RefreshPolicy(),
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator(),
        spawner: any TaskSpawner = SystemSpawner()
    ) {
        self.store = store
        self.source = source
        self.servesOneUser = servesOneUser
        self.policy = policy
        self.clock = clock
        self.generator = generator
        self.spawner = spawner
        watch = TimeLimitWatch(clock: clock)
        let changes = store.changes()
        // Not by the spawner, whose work has an end of its own: this lasts as long as the tokens.
        following.withLock {
            $0 = Task { [weak self] in
                for await _ in changes { await self?.followStore() }
            }
        }
    }

    deinit {
        following.withLock { $0?.cancel() }
    }

    /// Returns a valid token, such as for a connection that is no HTTP; it gets a new one where needed.
    ///
    /// - Returns: The token.
    /// - Throws: ``SignedOutError``, ``TokenRefreshError``, ``RefreshRecursionError``, or `CancellationError`.
    public func token() async throws -> Token {
        guard let lease = try await lease() else { throw SignedOutError(.noToken) }
        return lease.token
    }

    /// Stores the token of a user who has signed in, in place of any other.
    ///
    /// Requests that are under way for another user end with ``SignedOutError``, as with ``signOut()``.
    ///
    /// - Parameter token: The token.
    /// - Throws: The error of the store.
    public func signIn(with token: Token) async throws {
        _ = try await exchange(for: token)
        change(to: token)
    }

    /// Removes the token, and ends all waits for a new one.
    ///
    /// The layers that use these tokens deliver no answer to a request that was sent before. A refresh that is under way
    /// stores nothing. The token is still valid for the server: give it to ``OAuthClient/revoke(_:)``.
    ///
    /// - Returns: The token that was removed; nil without one.
    /// - Throws: The error of the store, which then still holds the token, so that the next request may find it: call this
    ///   again.
    @discardableResult public func signOut() async throws -> Token? {
        change(to: nil)
        return try await exchange(for: nil)
    }

    /// The number of the current sign-in, which is another one after each sign-in and sign-out.
    var generation: Int { state.withLock { $0.generation } }

    /// Returns the token to send, in place of one that the server has rejected.
    ///
    /// - Returns: The token; nil if the server has rejected a token that was just given, so that a further one is of no use.
    /// - Throws: As ``token()``, and ``TokenRefreshError`` at the deadline.
    func lease(
        insteadOf rejected: HeldToken? = nil, until deadline: ContinuousClock.Instant? = nil
    ) async throws -> HeldToken? {
        try await lease(after: step(insteadOf: rejected, hasWaited: false), insteadOf: rejected, until: deadline)
    }

    /// The first step of a caller: a valid token, or one for ``lease(after:insteadOf:until:)``.
    var firstStep: TokenState.Step { step(insteadOf: nil, hasWaited: false) }

    func lease(
        after first: TokenState.Step, insteadOf rejected: HeldToken?, until deadline: ContinuousClock.Instant?
    ) async throws -> HeldToken? {
        var step = first
        while true {
            switch step {
            case .use(let lease, let early):
                if let early { start(early) }
                return lease
            case .giveUp: return nil
            case .fail(let error): throw error
            case .wait(let refresh, let isNew):
                if isNew { start(refresh) }
                try await wait(for: refresh, until: deadline)
                // The look of another caller does not count for a caller whose token has expired.
                step = self.step(insteadOf: rejected, hasWaited: isNew || rejected != nil || !refresh.looksOnly)
            }
        }
    }

    private func step(insteadOf rejected: HeldToken?, hasWaited: Bool) -> TokenState.Step {
        state.withLock { state in
            state.step(
                insteadOf: rejected, hasWaited: hasWaited, now: clock.now, date: clock.date,
                minimumInterval: policy.minimumInterval,
                mayStart: !RefreshScope.underWay.contains(ObjectIdentifier(self)))
        }
    }

    /// Gets a new token in the background, since the server has rejected one whose request cannot be sent again.
    func replaceInBackground(_ rejected: HeldToken) {
        if case .wait(let refresh, true) = step(insteadOf: rejected, hasWaited: false) { start(refresh) }
    }

    private func wait(for refresh: RefreshUnderWay, until deadline: ContinuousClock.Instant?) async throws {
        guard let deadline else { return try await refresh.wait() }
        guard try await watch.value(until: deadline, of: { try await refresh.wait() }) != nil else {
            throw TokenRefreshError(underlying: nil)
        }
    }

    private func start(_ refresh: RefreshUnderWay) {
        spawner.spawn {
            let result = await RefreshScope.$underWay.withValue(
                RefreshScope.underWay.union([ObjectIdentifier(self)])
            ) { await self.outcome(of: refresh) }
            self.finish(refresh, with: result)
        }
    }

    private func outcome(of refresh: RefreshUnderWay) async -> Result<RefreshEnd?, any Error> {
        let unsaved = state.withLock { $0.generation == refresh.generation ? $0.unsaved : nil }
        do {
            return .success(try await perform(refresh, saving: unsaved))
        } catch {
            return .failure(error)
        }
    }

    /// Notes the outcome before the callers wake, so that none of them starts another refresh.
    private func finish(_ refresh: RefreshUnderWay, with outcome: Result<RefreshEnd?, any Error>) {
        let now = clock.now
        let random = generator.uniform()
        let result = state.withLock { state -> Result<Void, any Error> in
            guard state.generation == refresh.generation else { return .failure(SignedOutError(.signedOut)) }
            state.refresh = nil
            switch outcome {
            case .success(let result):
                let goOn = result.map { state.take($0, lead: { lead(of: $0) }, now: now) } ?? true
                return goOn ? .success(()) : .failure(SignedOutError(.signedOut))
            // The rejection that caused the look is returned.
            case .failure where refresh.looksOnly: return .success(())
            // No caller cancels a refresh: its transport has ended all of its transfers.
            case .failure(let error as CancellationError): return .failure(error)
            case .failure(let error):
                let delay = RefreshPolicy.backoff(
                    after: state.failures + 1, asked: (error as? OAuthError)?.retryAfter, random: random)
                let failure = TokenRefreshError(
                    underlying: error is RefreshTimeoutError ? nil : error, earliestRetry: now + delay)
                state.failures += 1
                state.failure = failure
                return .failure(failure)
            }
        }
        refresh.end(with: result)
    }

    private func change(to token: Token?) {
        let lead = token.flatMap(self.lead(of:))
        let refresh = state.withLock { state -> RefreshUnderWay? in
            let refresh = state.refresh
            state = TokenState(generation: state.generation + 1, signIn: token?.signIn, session: .signedOut(.noToken))
            if let token { state.session = .signedIn(HeldToken(token, generation: state.generation, lead: lead)) }
            return refresh
        }
        refresh?.end(with: .failure(SignedOutError(.signedOut)))
    }

    /// Takes what another process has done with the store; without a token in memory, the next caller reads the store.
    private func followStore() async {
        while let known = state.withLock({ $0.held }) {
            // A store that cannot be read is reported to the next caller, who can do something about it.
            let stored: Token?
            do { stored = try await store.token() } catch { return }
            if state.withLock({ $0.follow(stored, knowing: known, lead: { lead(of: $0) }) }) { return }
        }
    }

    /// Replaces the token in the store, whatever it is.
    private func exchange(for token: Token?) async throws -> Token? {
        for _ in 0..<TokenStoreError.attemptLimit {
            // A token that cannot be read is replaced as if there were none.
            let held = try? await store.token()
            if try await store.replace(held, with: token) { return held }
        }
        throw TokenStoreError(.neverReplaces)
    }

    /// Whether the source can give another token in place of one.
    func canReplace(_ token: Token) -> Bool { token.refreshToken != nil || source.startsWithoutToken }

    /// How long before its expiry a token is replaced; nil for one that can only be used to its end.
    private func lead(of token: Token) -> Duration? {
        guard canReplace(token) else { return nil }
        return token.expiry.map { expiry in
            let remaining = Duration.seconds(max(0, min(expiry.timeIntervalSince(clock.date), 0x1p31)))
            return policy.lead(ofRemaining: remaining, random: generator.uniform())
        }
    }
}

extension Tokens: SecretHolder {
    /// The name of the store's type.
    public var description: String { "Tokens in a \(type(of: store))" }
}

/// The refreshes that the current task is a part of.
enum RefreshScope {
    @TaskLocal static var underWay: Set<ObjectIdentifier> = []
}
