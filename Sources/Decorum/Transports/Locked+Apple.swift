#if !os(Linux)
import Synchronization

/// A value behind a lock.
typealias Locked<Value> = Mutex<Value>
#endif
