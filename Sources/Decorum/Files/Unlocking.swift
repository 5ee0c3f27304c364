import Foundation

/// Ends the lock of an open file (`flock`) and closes it.
///
/// Closing alone is not enough: a process that is being started has a copy of each descriptor until it runs its program, and with
/// it the lock.
package func unlockAndClose(_ descriptor: Int32) {
    flock(descriptor, LOCK_UN)
    close(descriptor)
}
