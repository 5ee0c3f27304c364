public import Decorum
import Dispatch
public import Foundation
import Synchronization

/// A store that keeps the token in a file, for all processes of one user on one machine.
///
/// The file has mode 0600 and is replaced in one step, so that a process that ends at any moment leaves a whole token; a
/// new one that it has not finished is removed when a store opens or the token changes. Its directory must be the user's
/// own, must not be a symbolic link, and no other user may read it; it is created with mode 0700 if it does not exist. Two
/// further files with the same name are locks (`flock`), which the system releases when a process ends. The file system
/// must be a local one.
///
/// The token is not encrypted: whoever can read the user's files can read it. On Apple's systems, keep tokens in the
/// Keychain.
public final class FileTokenStore: TokenStore {
    private let files: TokenFiles
    private let clock: any DatedClock
    private let refreshWait: Duration
    /// The number of times that a token was read or written through this store.
    private let uses = Mutex(0)

    /// Creates a store in a directory.
    ///
    /// - Parameters:
    ///   - directory: The directory, which is created if it does not exist; its parent must exist.
    ///   - name: The name of the token in the directory, such as that of an account: letters, digits, `-`, `_` and `.`,
    ///     without the ending of a file beside it (`.new`, `.lock`, `.refresh`).
    ///   - refreshWait: How long ``exclusively(_:)`` waits for another process; longer than ``RefreshPolicy/timeLimit``.
    ///   - clock: The clock of these waits.
    /// - Throws: ``TokenStoreError`` for a directory that other users can reach, and for a name with other characters.
    public init(
        directory: URL, name: String = "token", refreshWait: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) throws {
        files = try TokenFiles(directory: directory.path, name: name)
        self.clock = clock
        self.refreshWait = refreshWait
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

    /// Returns the tokens that are stored from now on, by this process or another one; the system tells of each change, or
    /// else the file is looked at once in a second.
    public func changes() -> AsyncStream<Token?> {
        let usesBefore = uses.withLock(\.self)
        let before = files.mark
        let (stream, continuation) = AsyncStream.makeStream(of: Token?.self, bufferingPolicy: .bufferingNewest(1))
        let following = Task.detached { [weak self, files, clock] in
            let (events, event) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let watch = files.watch { event.yield() }
            defer { watch?.cancel() }
            // A change since then may have come before the watch.
            event.yield()
            var iterator = events.makeAsyncIterator()
            var (mark, knownUses) = (before, usesBefore)
            while !Task.isCancelled {
                if watch?.isCancelled ?? true {
                    try? await clock.sleep(for: .seconds(1))
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

extension FileTokenStore: SecretHolder {
    /// A fixed name.
    public var description: String { "FileTokenStore" }
}

/// The files of one token: its content, and the locks beside it.
struct TokenFiles: Sendable {
    enum Lock: String {
        case changes = ".lock"
        case refresh = ".refresh"
    }

    /// The state of the file, which is another one after each change.
    struct Mark: Equatable {
        let file: UInt64
        let seconds: Int
        let nanoseconds: Int
    }

    private let directory: String
    private let name: String

    init(directory: String, name: String) throws {
        let isPlain = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-_.".utf8.contains(byte)
        }
        // The files beside a token have these endings.
        let isOwn = [".new", Lock.changes.rawValue, Lock.refresh.rawValue].contains { name.hasSuffix($0) }
        let fileName = Self.fileName(of: name)
        guard isPlain, !isOwn, !name.isEmpty, !name.hasPrefix("."), fileName.utf8.count <= 200 else {
            throw TokenStoreError(.invalidName)
        }
        self.directory = directory
        self.name = fileName
        guard unsafe mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw TokenStoreError(.system(errno)) }
        let folder = try openDirectory()
        defer { close(folder) }
        // What a process has left behind that was ended while it wrote; one that still writes has the lock.
        if unsafe faccessat(folder, unfinished, F_OK, 0) == 0, let lock = try? tryLock(.changes) {
            unsafe unlinkat(folder, unfinished, 0)
            lock.release()
        }
    }

    /// The name of the file of a token, since a file system may not distinguish capital letters from small ones.
    static func fileName(of name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? "+\($1.lowercased())" : String($1) }
    }

    private var unfinished: String { name + ".new" }

    /// The state of the file; nil without a file.
    var mark: Mark? {
        var status = stat()
        guard unsafe lstat(directory + "/" + name, &status) == 0 else { return nil }
        #if os(Linux)
        let time = status.st_mtim
        #else
        let time = status.st_mtimespec
        #endif
        return Mark(file: UInt64(status.st_ino), seconds: Int(time.tv_sec), nanoseconds: Int(time.tv_nsec))
    }

    /// Reads the file; nil without a file.
    func read() throws -> Data? {
        let folder = try openDirectory()
        defer { close(folder) }
        // Not blocking, since a pipe in the place of the file would wait for a writer.
        let file = unsafe openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw TokenStoreError(errno == ELOOP ? .unsafeFile : .system(errno)) }
            return nil
        }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw TokenStoreError(.system(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw TokenStoreError(.unsafeFile)
        }
        // One byte more than a token has shows that the file has too many.
        return try handle.read(upToCount: Token.storedFormLimit + 1) ?? Data()
    }

    /// Replaces the file in one step, or removes it; the caller has the lock of changes.
    func write(_ content: Data?) throws {
        let folder = try openDirectory()
        defer { close(folder) }
        // One that a process has left behind when it was ended.
        unsafe unlinkat(folder, unfinished, 0)
        guard let content else {
            guard unsafe unlinkat(folder, name, 0) == 0 || errno == ENOENT else {
                throw TokenStoreError(.system(errno))
            }
            return
        }
        let file = unsafe openat(folder, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw TokenStoreError(.system(errno)) }
        do {
            let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
            try handle.write(contentsOf: content)
            // The old refresh token is of no use once a new one is given, so the new one has to outlast a loss of power.
            guard fsync(file) == 0 else { throw TokenStoreError(.system(errno)) }
            guard unsafe renameat(folder, unfinished, folder, name) == 0 else { throw TokenStoreError(.system(errno)) }
        } catch {
            unsafe unlinkat(folder, unfinished, 0)
            throw error as? TokenStoreError ?? TokenStoreError(.system(EIO))
        }
        fsync(folder)
    }

    /// Takes a lock; nil while another holder has it.
    func tryLock(_ lock: Lock) throws -> FileLock? {
        let folder = try openDirectory()
        defer { close(folder) }
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let file = unsafe openat(folder, name + lock.rawValue, flags, 0o600)
        guard file >= 0 else { throw TokenStoreError(errno == ELOOP ? .unsafeFile : .system(errno)) }
        guard flock(file, LOCK_EX | LOCK_NB) != 0 else { return FileLock(descriptor: file) }
        let code = errno
        close(file)
        guard code == EWOULDBLOCK || code == EINTR else { throw TokenStoreError(.system(code)) }
        return nil
    }

    /// Opens the directory, which must be this user's alone.
    private func openDirectory() throws -> Int32 {
        let folder = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else {
            let isOther = errno == ELOOP || errno == ENOTDIR
            throw TokenStoreError(isOther ? .isNoDirectory : .system(errno))
        }
        var status = stat()
        let isRead = unsafe fstat(folder, &status) == 0
        guard isRead, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            close(folder)
            throw TokenStoreError(isRead && status.st_uid == geteuid() ? .isReadableByOthers : .isOfAnotherUser)
        }
        return folder
    }
}

extension TokenFiles {
    #if os(Linux)
    /// Tells when a file of the directory was replaced or removed; nil where the system has no place for a further watch.
    ///
    /// The watch is cancelled, and tells so, when the directory is gone.
    func watch(_ tell: @escaping @Sendable () -> Void) -> (any DispatchSourceProtocol)? {
        let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard watch >= 0 else { return nil }
        let events = UInt32(IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF)
        guard unsafe inotify_add_watch(watch, directory, events) >= 0 else {
            close(watch)
            return nil
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: watch)
        source.setEventHandler { [directory] in
            // The state of the file tells what has happened, so the events are only taken out.
            unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
                while unsafe Foundation.read(watch, buffer.baseAddress, buffer.count) > 0 {}
            }
            // The watch is of a directory and not of its path, where another one may be now; the same one keeps its watch.
            if unsafe inotify_add_watch(watch, directory, events) < 0 { source.cancel() }
            tell()
        }
        source.setCancelHandler { close(watch) }
        source.activate()
        return source
    }
    #else
    /// Tells when a file of the directory was replaced or removed; nil if the directory cannot be opened.
    ///
    /// The watch is cancelled, and tells so, when the directory is gone from its path.
    func watch(_ tell: @escaping @Sendable () -> Void) -> (any DispatchSourceProtocol)? {
        let folder = unsafe open(directory, O_EVTONLY | O_CLOEXEC)
        guard folder >= 0 else { return nil }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: folder, eventMask: [.write, .delete, .rename])
        source.setEventHandler {
            if !source.data.isDisjoint(with: [.delete, .rename]) { source.cancel() }
            tell()
        }
        source.setCancelHandler { close(folder) }
        source.activate()
        return source
    }
    #endif
}

/// A lock of a file, which every process of the machine respects.
final class FileLock: Sendable {
    private struct State {
        /// Nil once the lock is released.
        var descriptor: Int32?
        var hasTime = false
    }

    private let state: Mutex<State>
    private let released = DispatchSemaphore(value: 0)

    init(descriptor: Int32) {
        state = Mutex(State(descriptor: descriptor))
    }

    /// Releases the lock; a second call has no effect.
    func release() {
        guard let descriptor = state.withLock({ $0.descriptor.take() }) else { return }
        unlockAndClose(descriptor)
        released.signal()
    }

    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
    /// Asks the system not to suspend the app before the lock is released, and releases it at the end of the time given.
    ///
    /// The system ends an app that it suspends while it holds a lock in the container of an app group.
    func holdOffSuspension() {
        ProcessInfo.processInfo.performExpiringActivity(withReason: "A token is refreshed.") { [self] isExpired in
            guard isExpired else {
                state.withLock { $0.hasTime = true }
                // The time lasts until this returns.
                return released.wait()
            }
            // Without any time, the lock stays, since an app that is not suspended goes on to refresh.
            if state.withLock(\.hasTime) { release() }
        }
    }
    #else
    /// Does nothing, since this system suspends no process.
    func holdOffSuspension() {}
    #endif
}
