import Foundation
import Synchronization

#if os(Linux)
import DecorumSystem

/// The calls that return at once, with content that is in the kernel's memory (Linux 5.12 and later).
///
/// Which of them the system supports is found out by the first call.
final class CachedFileCalls: Sendable {
    private let canOpen = Atomic(true)
    private let canRead = Atomic(true)

    /// Opens a file for reading.
    func open(_ path: String) throws -> Int32 {
        guard canOpen.load(ordering: .relaxed) else { throw SystemError.mustWait }
        return try checked(unsafe decorum_open_cached(path))
    }

    /// Opens a file or directory of which only the status is to be read.
    func find(_ path: String) throws -> Int32 {
        guard canOpen.load(ordering: .relaxed) else { throw SystemError.mustWait }
        return try checked(unsafe decorum_find_cached(path))
    }

    private func checked(_ descriptor: Int32) throws -> Int32 {
        guard descriptor < 0 else { return descriptor }
        switch -descriptor {
        // EPERM is the answer of a sandbox that does not know the call.
        case ENOSYS, EINVAL, EPERM, EOPNOTSUPP: canOpen.store(false, ordering: .relaxed)
        case EAGAIN, ELOOP, EINTR: break
        default: throw SystemError(code: -descriptor)
        }
        throw SystemError.mustWait
    }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        guard canRead.load(ordering: .relaxed) else { throw SystemError.mustWait }
        let count = unsafe decorum_read_cached(descriptor, buffer.baseAddress, buffer.count, offset)
        guard count < 0 else { return count }
        switch Int32(-count) {
        case ENOSYS, EINVAL, EPERM, EOPNOTSUPP: canRead.store(false, ordering: .relaxed)
        case EAGAIN, EINTR: break
        default: throw SystemError(code: Int32(-count))
        }
        throw SystemError.mustWait
    }
}
#else
/// The system has no calls that read a file only if that needs no waiting.
final class CachedFileCalls: Sendable {
    func open(_ path: String) throws -> Int32 { throw SystemError.mustWait }

    func find(_ path: String) throws -> Int32 { throw SystemError.mustWait }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        throw SystemError.mustWait
    }
}
#endif
