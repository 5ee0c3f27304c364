#if os(Linux)
import Foundation

/// A value behind a lock of the system's thread library, which ThreadSanitizer knows; it reports
/// `Synchronization.Mutex` as a race.
///
/// `@unchecked Sendable`, since the value is reached through ``withLock(_:)`` alone, by one thread at a time.
@safe final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init(_ value: Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    @inline(__always) func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
#else
import Synchronization

/// A value behind a lock.
typealias Locked<Value> = Mutex<Value>
#endif
