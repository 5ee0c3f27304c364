public import Decorum
public import Foundation
import Synchronization

/// A store that keeps the token in a file, for all processes of one user on one machine.
///
/// ```swift
/// let store = try FileTokenStore(directory: applicationSupport.appending(path: "Tokens"), name: "account-1")
/// ```
///
/// The file has mode 0600 and is replaced in one step, so that a process that ends at any moment leaves a whole token; a
/// new one that it has not finished is removed when a store opens or the token changes. Its directory must be the user's own, must not be
/// a symbolic link, and no other user may read it; it is created with mode 0700 if it does not exist. Two further files with
/// the same name are locks (`flock`), which the system releases when a process ends. The file system must be a local one.
///
/// The token is not encrypted: whoever can read the user's files can read it. On Apple's systems, keep tokens in the
/// Keychain.
public final class FileTokenStore: TokenStore {
    private let files: TokenFiles
    private let clock: any DatedClock
    private let refreshWait: Duration
    private let pollingInterval: Duration
    /// The number of times that a token was read or written through this store.
    private let uses = Mutex(0)

    /// Creates a store in a directory.
    ///
    /// - Parameters:
    ///   - directory: The directory, which is created if it does not exist; its parent must exist.
    ///   - name: The name of the token in the directory, such as that of an account: letters, digits, `-`, `_` and `.`,
    ///     without the ending of a file beside it (`.new`, `.lock`, `.refresh`).
    ///   - refreshWait: How long ``exclusively(_:)`` waits for another process; longer than ``RefreshPolicy/timeLimit``.
    ///   - pollingInterval: How often ``changes()`` looks for changes where the system does not tell them.
    ///   - clock: The clock of these waits.
    /// - Throws: ``TokenStoreError`` for a directory that other users can reach, and for a name with other characters.
    public init(
        directory: URL, name: String = "token", refreshWait: Duration = .seconds(60),
        pollingInterval: Duration = .seconds(1), clock: any DatedClock = SystemClock()
    ) throws {
        files = try TokenFiles(directory: directory.path, name: name)
        self.clock = clock
        self.refreshWait = refreshWait
        self.pollingInterval = pollingInterval
    }

    /// Reads the token.
    @concurrent public func token() async throws -> Token? {
        // Before reading, so that a removal meanwhile is told.
        uses.withLock { $0 += 1 }
        return try files.read().map { try Token(storedForm: $0) }
    }

    /// Replaces the token, if it is still the one that is expected.
    ///
    /// A file that is damaged counts as no token, so that signing in replaces it.
    @concurrent public func replace(_ expected: Token?, with token: Token?) async throws -> Bool {
        let lock = try await lock(.changes, within: .seconds(10))
        defer { lock.release() }
        let held = try files.read().flatMap { try? Token(storedForm: $0) }
        guard held == expected else { return false }
        try files.write(try token?.storedForm)
        if token != nil { uses.withLock { $0 += 1 } }
        return true
    }

    /// Performs work while no other process does.
    ///
    /// On iOS, tvOS, watchOS and visionOS, it asks the system for the time that the work takes. When that time is over, the
    /// lock is released before the work has ended, since the system ends an app that it suspends with a lock in the container
    /// of an app group; another process may then work too. Where the system gives no time at all, the lock is kept.
    public func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        let lock = try await lock(.refresh, within: refreshWait)
        defer { lock.release() }
        lock.holdOffSuspension()
        return try await work()
    }

    /// Returns the tokens that are stored from now on, by this process or another one; the system tells of each change.
    public func changes() -> AsyncStream<Token?> {
        let usesBefore = uses.withLock(\.self)
        let before = files.mark
        let (stream, continuation) = AsyncStream.makeStream(of: Token?.self, bufferingPolicy: .bufferingNewest(1))
        let following = Task.detached { [weak self, files, clock, pollingInterval] in
            let (events, event) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let watch = files.watch { event.yield() }
            defer { watch?.cancel() }
            // A change since then may have come before the watch.
            event.yield()
            var iterator = events.makeAsyncIterator()
            var (mark, knownUses) = (before, usesBefore)
            while !Task.isCancelled {
                if watch?.isCancelled ?? true {
                    try? await clock.sleep(for: pollingInterval)
                } else {
                    await iterator.next()
                }
                let uses = self?.uses.withLock(\.self) ?? knownUses
                let current = files.mark
                // A token that was read or written through this store may be gone before this task has seen its file.
                let isGone = current == nil && uses != knownUses
                knownUses = uses
                guard current != mark || isGone, !Task.isCancelled else { continue }
                mark = current
                // A file that cannot be read now is reported by the next reader, who can do something about it.
                if let data = try? files.read() { continuation.yield(try? Token(storedForm: data)) }
                if current == nil { continuation.yield(nil) }
            }
        }
        continuation.onTermination = { _ in following.cancel() }
        return stream
    }

    private func lock(_ kind: TokenFiles.Lock, within limit: Duration) async throws -> FileLock {
        let end = clock.instant(after: limit)
        var pause = Duration.milliseconds(1)
        while true {
            if let lock = try files.tryLock(kind) { return lock }
            guard clock.now < end else { throw TokenStoreError(.isLocked) }
            try await clock.sleep(until: min(end, clock.now + pause), tolerance: nil)
            pause = min(pause * 2, .milliseconds(20))
        }
    }
}

extension FileTokenStore: CustomStringConvertible, CustomReflectable {
    /// A fixed name.
    public var description: String { "FileTokenStore" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
