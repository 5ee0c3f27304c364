import Decorum
import DecorumTesting
import Foundation
import Synchronization

/// The state of a history, in one file for all processes: the server's versions, the time, and all that has ended.
struct HistoryWorld: Sendable {
    static let uris = 3 * ResourceKind.allCases.count
    /// The principals; the first is none.
    static let principals: [Principal?] = [nil] + ["joe", "ann", "eve", "bob"].map { Principal($0) }

    private static let resources = uris * principals.count
    private let numbers: SharedNumbers

    // The places of the numbers.
    private let sequencePlace = 0
    private let timePlace = 1
    private let versionPlace = 2
    private let changePlace = 2 + resources
    private let signOutPlace = 2 + 2 * resources

    /// Opens a world in a file, new or of another process.
    init(_ file: URL) throws {
        numbers = try SharedNumbers(file, count: 2 + 2 * Self.resources + Self.principals.count)
    }

    /// The number of requests that the server has received.
    var sequence: Int { numbers[sequencePlace] }
    /// The time, in seconds.
    var time: Int { numbers[timePlace] }

    func receive() -> Int { numbers.add(to: sequencePlace) }
    func advance(by seconds: Int) { _ = numbers.add(seconds, to: timePlace) }

    func version(_ uri: Int, of principal: Int) -> Int {
        numbers[versionPlace + Self.place(uri, principal)]
    }

    /// Changes a resource at the server.
    func change(_ uri: Int, of principal: Int) -> Change {
        Change(
            uri: uri, principal: principal, version: numbers.add(to: versionPlace + Self.place(uri, principal)))
    }

    /// Records that the request for a change has ended.
    func end(_ change: Change) {
        numbers.raise(changePlace + Self.place(change.uri, change.principal), to: change.version)
    }

    /// Records that a sign-out has ended, which began after a number of requests.
    func endSignOut(of principal: Int, begunAfter sequence: Int) {
        numbers.raise(signOutPlace + principal, to: sequence)
    }

    /// The facts at the beginning of a read.
    func begin(_ wanted: HistoryModel.Choice) -> HistoryModel.Read {
        HistoryModel.Read(
            wanted: wanted, version: numbers[changePlace + Self.place(wanted.uri, wanted.principal)],
            signOut: numbers[signOutPlace + wanted.principal], sequence: sequence, time: time)
    }

    private static func place(_ uri: Int, _ principal: Int) -> Int { uri * principals.count + principal }

    /// A change of a resource of one principal.
    struct Change: Sendable {
        let uri: Int
        let principal: Int
        let version: Int
    }
}

/// The clock of a world, which is the same in all processes.
struct WorldClock: DatedClock {
    let world: HistoryWorld
    private let start = ContinuousClock.now

    init(_ world: HistoryWorld) {
        self.world = world
    }

    var now: ContinuousClock.Instant { start + .seconds(world.time) }
    var date: Date { Date(timeIntervalSince1970: 1_700_000_000 + Double(world.time)) }
    var minimumResolution: Duration { .seconds(1) }

    /// Waits until the task is cancelled: no server of a history is ever slow.
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await Gate().wait()
    }
}

/// Numbers that tasks, and processes with one file, change at the same time.
///
/// `@safe`, since only atomics are reached through the pointer, and the mapping lives as long as this object.
@safe final class SharedNumbers: Sendable {
    struct Unavailable: Error {}

    private nonisolated(unsafe) let numbers: UnsafeMutablePointer<Atomic<Int>>
    private let length: Int

    /// Opens the numbers in a file; those of a new file are 0.
    init(_ file: URL, count: Int) throws {
        length = count * MemoryLayout<Atomic<Int>>.stride
        let descriptor = unsafe open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Unavailable() }
        defer { close(descriptor) }
        // Shared and whole, so that all processes see one memory; the system sets new bytes to 0.
        guard ftruncate(descriptor, off_t(length)) == 0,
            let address = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            unsafe address != MAP_FAILED
        else { throw Unavailable() }
        unsafe numbers = unsafe address.bindMemory(to: Atomic<Int>.self, capacity: count)
    }

    deinit {
        unsafe munmap(numbers, length)
    }

    subscript(_ index: Int) -> Int {
        unsafe numbers[index].load(ordering: .sequentiallyConsistent)
    }

    /// Adds to a number, and returns the sum.
    func add(_ summand: Int = 1, to index: Int) -> Int {
        unsafe numbers[index].add(summand, ordering: .sequentiallyConsistent).newValue
    }

    /// Sets a number that is lower.
    func raise(_ index: Int, to value: Int) {
        _ = unsafe numbers[index].max(value, ordering: .sequentiallyConsistent)
    }
}
