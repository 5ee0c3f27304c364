import Foundation
import Synchronization

@testable import Decorum

/// The disk of the machine, with a record of all changes, and with failures that a test requests.
final class ProbingFileSystem: FileSystem {
    /// A change of the disk's content.
    enum Change: Sendable {
        case makeDirectory(String)
        case create(String)
        case write(String, Int64, Data)
        case setTime(String, Int64)
        case rename(String, String)
        case remove(String)
    }

    private struct State {
        var changes: [Change] = []
        var paths: [Int32: String] = [:]
        var lengths: [String: Int] = [:]
        var untilFailure: Int?
        var refused: Set<Call> = []
        var code = EMFILE
        var capacity: Int?
        var forgets = false
        var owner: UInt32?
        var clockOffset: Int64 = 0
        var lockLimits: [Duration] = []
        var waitsForLock = true
    }

    /// Calls that a test can make fail.
    enum Call: Sendable {
        case list, remove, create, lock, setTime, checkWritable
    }

    let gate = DiskGate()
    private let system = SystemFileSystem()
    private let state: Mutex<State>
    private let order = Mutex(())
    private let code: Int32

    /// Creates a file system whose calls all fail after a number of calls.
    init(failingAfter count: Int? = nil, code: Int32 = ENOSPC) {
        state = Mutex(State(untilFailure: count))
        self.code = code
    }

    var changes: [Change] { state.withLock { $0.changes } }
    /// The bytes that all writes have written.
    var writtenCount: Int {
        changes.reduce(0) { total, change in
            if case .write(_, _, let data) = change { total + data.count } else { total }
        }
    }

    /// Waits at the gate, and fails if the call is one that fails.
    private func count(_ call: Call? = nil, waits: Bool = true) throws {
        if waits { gate.pass() }
        try state.withLock { state in
            if let left = state.untilFailure {
                guard left > 0 else { throw SystemError(code: code) }
                state.untilFailure = left - 1
            }
            if let call, state.refused.contains(call) { throw SystemError(code: state.code) }
        }
    }

    /// Makes all calls fail after a number of calls.
    func fail(after count: Int) {
        state.withLock { $0.untilFailure = count }
    }

    /// Makes only the given calls fail from now on, for example as if too many files were open.
    func refuse(_ calls: Set<Call>, code: Int32 = EMFILE) {
        state.withLock { state in
            state.refused = calls
            state.code = code
        }
    }

    /// The times that callers were ready to wait for the lock.
    var lockLimits: [Duration] { state.withLock { $0.lockLimits } }

    /// Makes the time pass at once in which a caller waits for a lock that the test holds.
    func skipWaitsForLock() {
        state.withLock { $0.waitsForLock = false }
    }

    /// Makes the disk full above a number of bytes; nil for the disk's own size.
    func limit(to capacity: Int?) {
        state.withLock { $0.capacity = capacity }
    }

    /// Makes all content count as not in memory.
    func forget() {
        state.withLock { $0.forgets = true }
    }

    /// Makes all files count as files of a user.
    func setOwner(_ owner: UInt32) {
        state.withLock { $0.owner = owner }
    }

    /// Sets the clock of the machine, by a number of nanoseconds.
    func setClock(by offset: Int64) {
        state.withLock { $0.clockOffset = offset }
    }

    /// Makes a change and notes it, so that all changes are noted in the order in which they are made.
    private func make(_ change: Change, _ work: () throws -> Void) rethrows {
        try order.withLock { _ in
            try work()
            state.withLock { $0.changes.append(change) }
        }
    }

    private func checkMemory(_ mayWait: Bool) throws {
        try count(waits: mayWait)
        if !mayWait, state.withLock({ $0.forgets }) { throw SystemError.mustWait }
    }

    /// Throws when a file of a length does not fit on the disk.
    private func take(_ path: String, length: Int) throws {
        try state.withLock { state in
            let new = max(state.lengths[path] ?? 0, length)
            let others = state.lengths.reduce(0) { $0 + ($1.key == path ? 0 : FileStatus.allocatedLength($1.value)) }
            if let capacity = state.capacity, others + FileStatus.allocatedLength(new) > capacity {
                throw SystemError(code: ENOSPC)
            }
            state.lengths[path] = new
        }
    }

    var time: TicketTime {
        let (time, offset) = (system.time, state.withLock { $0.clockOffset })
        return TicketTime(wall: time.wall + offset, steady: time.steady)
    }

    var user: UInt32 { system.user }

    private func owned(_ status: FileStatus) -> FileStatus {
        let owner = state.withLock { $0.owner } ?? status.owner
        return FileStatus(kind: status.kind, length: status.length, time: status.time, owner: owner)
    }

    func makeDirectory(_ path: String) throws {
        try count()
        try make(.makeDirectory(path)) { try system.makeDirectory(path) }
    }

    func checkWritable(_ directory: String) throws {
        try count(.checkWritable)
        try system.checkWritable(directory)
    }

    func status(of path: String) throws -> FileStatus {
        try count()
        return owned(try system.status(of: path))
    }

    func list(_ directory: String) throws -> [String] {
        try count(.list)
        return try system.list(directory)
    }

    func open(_ path: String, mayWait: Bool) throws -> Int32 {
        try checkMemory(mayWait)
        return try system.open(path, mayWait: mayWait)
    }

    func openForWriting(_ path: String) throws -> Int32 {
        try count()
        let descriptor = try system.openForWriting(path)
        state.withLock { $0.paths[descriptor] = path }
        return descriptor
    }

    func create(_ path: String) throws -> Int32 {
        try count(.create)
        try take(path, length: 1)
        var descriptor: Int32 = -1
        try make(.create(path)) { descriptor = try system.create(path) }
        state.withLock { [descriptor] in $0.paths[descriptor] = path }
        return descriptor
    }

    func status(of descriptor: Int32) throws -> FileStatus {
        try count(waits: false)
        return owned(try system.status(of: descriptor))
    }

    func read(_ count: Int, from descriptor: Int32, at offset: Int64, mayWait: Bool) throws -> [UInt8] {
        try checkMemory(mayWait)
        return try system.read(count, from: descriptor, at: offset, mayWait: mayWait)
    }

    func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: Int64) throws {
        let path = state.withLock { $0.paths[descriptor] ?? "" }
        do {
            try count()
            try take(path, length: Int(offset) + bytes.count)
        } catch {
            // As on a disk that becomes full, a part is written.
            try system.write(bytes.prefix(bytes.count / 2), to: descriptor, at: offset)
            throw error
        }
        try make(.write(path, offset, Data(bytes))) { try system.write(bytes, to: descriptor, at: offset) }
    }

    func isHeld(_ path: String) throws -> Bool {
        try count(.lock)
        return try system.isHeld(path)
    }

    func lock(_ path: String, within limit: Duration) throws -> Int32 {
        try count(.lock)
        let waits = state.withLock { state in
            state.lockLimits.append(limit)
            return state.waitsForLock
        }
        return try system.lock(path, within: waits ? limit : .zero)
    }

    func setTime(of path: String, to time: Int64) throws {
        try count(.setTime)
        try make(.setTime(path, time)) { try system.setTime(of: path, to: time) }
    }

    func close(_ descriptor: Int32) { system.close(descriptor) }
    func unlock(_ descriptor: Int32) { system.unlock(descriptor) }

    func rename(_ path: String, to newPath: String) throws {
        try count()
        try make(.rename(path, newPath)) { try system.rename(path, to: newPath) }
        state.withLock { $0.lengths[newPath] = $0.lengths.removeValue(forKey: path) }
    }

    func remove(_ path: String) throws {
        try count(.remove)
        try make(.remove(path)) { try system.remove(path) }
        state.withLock { $0.lengths[path] = nil }
    }
}

/// Makes calls wait, as for a disk that does not answer.
final class DiskGate: Sendable {
    private let condition = NSCondition()
    private let state = Mutex((isClosed: false, waiting: 0, hasGivenUp: false))

    /// The number of calls that wait now.
    var waitingCount: Int { state.withLock { $0.waiting } }
    /// Whether a call has waited for two minutes, as when nothing can open the gate.
    var hasGivenUp: Bool { state.withLock { $0.hasGivenUp } }

    func close() {
        state.withLock { $0.isClosed = true }
    }

    func open() {
        condition.lock()
        state.withLock { $0.isClosed = false }
        condition.broadcast()
        condition.unlock()
    }

    fileprivate func pass() {
        guard state.withLock({ $0.isClosed }) else { return }
        let end = Date(timeIntervalSinceNow: 120)
        condition.lock()
        state.withLock { $0.waiting += 1 }
        while state.withLock({ $0.isClosed }) {
            guard condition.wait(until: end) else {
                state.withLock { $0 = (false, $0.waiting, true) }
                break
            }
        }
        state.withLock { $0.waiting -= 1 }
        condition.unlock()
    }
}

extension ProbingFileSystem.Change {
    /// Makes the change in another directory; of a write, only the given number of bytes.
    func replay(from folder: URL, to copy: URL, count: Int? = nil) throws {
        func place(_ path: String) -> String {
            path.replacingOccurrences(of: folder.resolvingSymlinksInPath().path, with: copy.path)
        }
        switch self {
        case .makeDirectory(let path):
            try FileManager.default.createDirectory(atPath: place(path), withIntermediateDirectories: true)
        case .create(let path):
            try Data().write(to: URL(filePath: place(path)))
        case .write(let path, let offset, let data):
            let file = try FileHandle(forUpdating: URL(filePath: place(path)))
            defer { try? file.close() }
            try file.seek(toOffset: UInt64(offset))
            try file.write(contentsOf: data.prefix(count ?? data.count))
        case .setTime(let path, let time):
            try SystemFileSystem().setTime(of: place(path), to: time)
        case .rename(let path, let newPath):
            _ = try? FileManager.default.removeItem(atPath: place(newPath))
            try FileManager.default.moveItem(atPath: place(path), toPath: place(newPath))
        case .remove(let path):
            try FileManager.default.removeItem(atPath: place(path))
        }
    }
}
