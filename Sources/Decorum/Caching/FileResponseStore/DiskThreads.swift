import Dispatch

/// The threads of a store that wait for the disk, so that no thread of the concurrency pool does.
///
/// There is one for what requests read, one for all changes, which makes it the owner of what the directory holds, and
/// one for surveys of the whole directory, which take long.
final class DiskThreads: Sendable {
    let reading = DiskThread("reading")
    let changing = DiskThread("changing")
    let trimming = DiskThread("trimming")
}

/// A queue that performs one piece of work at a time, on a thread of its own while there is work.
struct DiskThread: Sendable {
    private let queue: DispatchQueue

    init(_ name: String) {
        queue = DispatchQueue(label: "decorum.store.\(name)", qos: .utility)
    }

    /// Performs work, and returns its result; the caller's thread does not wait.
    func perform<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: work()) }
        }
    }

    /// Performs work, and returns its result or throws its error; the caller's thread does not wait.
    func perform<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Swift.Result { try work() }) }
        }.get()
    }

    /// Performs work while the caller's thread waits, which may only be one of the store's own threads.
    func performAndWait<Result>(_ work: () -> Result) -> Result {
        queue.sync(execute: work)
    }

    /// Performs work whose result is not needed.
    func start(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }
}
