#if Signing
import Decorum
import Foundation
import Synchronization

#if os(macOS) || os(Linux)
/// Runs the program of a profile, and reads what it writes.
struct CredentialProcess: Sendable {
    private static let timeLimit = Duration.seconds(60)
    private static let outputLimit = 64 << 10

    let words: [String]
    let environment: [String: String]
    let clock: any DatedClock

    /// The output of the program, which has ended in time with the status 0.
    func output() async throws -> Data {
        let flag = StopFlag()
        let watch = TimeLimitWatch(clock: clock)
        let result = try await watch.leavableValue(until: clock.instant(after: Self.timeLimit)) { [self] in
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    // Reading blocks a thread, which must not be one of those that run tasks.
                    Thread.detachNewThread { continuation.resume(with: Result { try run(until: flag) }) }
                }
            } onCancel: {
                flag.isRaised.store(true, ordering: .relaxed)
            }
        }
        guard let result else {
            throw AWSCredentialError(
                "The credential_process did not end within a minute. Run it by hand.", mayPass: true)
        }
        return result
    }

    private final class StopFlag: Sendable {
        let isRaised = Atomic(false)
    }

    private func run(until flag: StopFlag) throws -> Data {
        var ends: [Int32] = [-1, -1]
        // The system writes two descriptors into the array of two.
        guard unsafe pipe(&ends) == 0 else { throw Self.failure }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let output = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let process: pid_t
        do {
            defer { close(ends[1]) }
            process = try spawn(output: ends[1])
        }
        var data = Data()
        let isComplete = Self.receive(from: output.fileDescriptor, into: &data, until: flag)
        // The program has a group of its own, so what it has started ends with it.
        if !isComplete { kill(-process, SIGKILL) }
        guard Self.status(of: process, until: flag) == 0, isComplete else { throw Self.failure }
        return data
    }

    private static var failure: AWSCredentialError {
        AWSCredentialError(
            "The credential_process could not be started, has failed or has written more than 64 KiB. Run it by hand.")
    }

    /// Reads to the end; returns false at the limit, and when the flag is raised.
    private static func receive(from descriptor: Int32, into data: inout Data, until flag: StopFlag) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !flag.isRaised.load(ordering: .relaxed) {
            var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            // One descriptor is in the array of one; the flag is looked at twenty times a second.
            guard unsafe poll(&polled, 1, 50) > 0 else { continue }
            let room = buffer.count
            let count = unsafe read(descriptor, &buffer, room)
            if count == 0 { return true }
            guard count > 0 else {
                if errno == EINTR { continue }
                return false
            }
            data.append(contentsOf: buffer[..<count])
            guard data.count <= outputLimit else { return false }
        }
        return false
    }

    /// Waits for the end of a program, which may have closed its output long before, and ends it when the flag is raised.
    private static func status(of process: pid_t, until flag: StopFlag) -> Int32 {
        var status = Int32(-1)
        while true {
            let ended = unsafe waitpid(process, &status, WNOHANG)
            if ended == process { return status }
            if ended < 0, errno != EINTR { return -1 }
            if flag.isRaised.load(ordering: .relaxed) { kill(-process, SIGKILL) }
            usleep(5_000)
        }
    }

    /// Starts the program in a group of its own, with no input, and its messages thrown away.
    private func spawn(output: Int32) throws -> pid_t {
        let path = try Self.program(words.first ?? "", in: environment["PATH"])
        let lists = unsafe [words, environment.map { "\($0.key)=\($0.value)" }].map {
            unsafe $0.map { unsafe strdup($0) } + [nil]
        }
        // Each text is freed at the end, after the calls that read it.
        defer { _ = unsafe lists.joined().map { unsafe free($0) } }
        var actions = unsafe emptyFileActions
        var attributes = unsafe emptyAttributes
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        unsafe closeOtherDescriptors(&actions)
        // Threads of Swift block signals, which the program would inherit.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK) | closingFlag)
        var process = pid_t()
        guard unsafe posix_spawn(&process, path, &actions, &attributes, lists[0], lists[1]) == 0 else {
            throw Self.failure
        }
        return process
    }

    private static func program(_ name: String, in searchPath: String?) throws -> String {
        if name.contains("/") { return name }
        let folders = (searchPath ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        let found = folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let found else { throw failure }
        return found
    }
}

#if os(macOS)
private var emptyFileActions: posix_spawn_file_actions_t? { nil }
@unsafe private var emptyAttributes: posix_spawnattr_t? { nil }
private var closingFlag: Int16 { Int16(POSIX_SPAWN_CLOEXEC_DEFAULT) }

// A flag of the attributes does it here.
private func closeOtherDescriptors(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>) {}
#else
private var emptyFileActions: posix_spawn_file_actions_t { unsafe posix_spawn_file_actions_t() }
@unsafe private var emptyAttributes: posix_spawnattr_t { posix_spawnattr_t() }
private var closingFlag: Int16 { 0 }

/// Closes the sockets and files of libraries, which are not meant for the program.
private func closeOtherDescriptors(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>) {
    typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt
    // Not declared for Swift, and absent before glibc 2.34.
    guard let symbol = unsafe dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
    _ = unsafe unsafeBitCast(symbol, to: CloseFrom.self)(actions, 3)
}
#endif
#else
/// The program of a profile, which this system cannot start.
struct CredentialProcess: Sendable {
    let words: [String]
    let environment: [String: String]
    let clock: any DatedClock

    func output() async throws -> Data {
        throw AWSCredentialError("An app cannot start a credential_process on this system. Use other credentials.")
    }
}
#endif

extension CredentialProcess: SecretHolder {
    /// A fixed text: the words may hold a secret.
    var description: String { "a credential_process" }
}
#endif
