import Dispatch
import Synchronization

/// The bytes of a store on the disk, as one process counts them: a decision for each write, without any file.
///
/// The process counts the bytes that it writes, and surveys the files once it has written a hundredth of the limit. So a
/// few processes together exceed the limit by at most a few hundredths.
struct ResponseSpaceBudget: Sendable {
    /// Whether files have to be removed.
    enum Urgency: Sendable {
        case none
        /// In the background, while the bytes are written.
        case soon
        /// Before the bytes are written.
        case now
        /// The bytes do not fit, whatever is removed.
        case out
    }

    let limit: Int
    /// The bytes that the files took at the last survey; nil without a survey.
    private(set) var found: Int?
    /// The bytes that were written since the start of that survey.
    private(set) var written = 0
    /// The bytes of bodies that are being received.
    private(set) var incoming = 0
    private(set) var isTrimmingSoon = false

    /// The part of the limit to within which all processes keep it.
    private var step: Int { limit / 100 }

    /// Admits bytes of a body that is being received: together, such bodies take at most half of the limit.
    mutating func admit(_ count: Int) -> Bool {
        guard count <= limit / 2 - incoming else { return false }
        incoming += count
        return true
    }

    /// Records that bytes of a body are in a finished file, or gone.
    mutating func release(_ count: Int) {
        incoming -= count
    }

    /// Counts bytes that are about to be written.
    mutating func write(_ count: Int) -> Urgency {
        guard count <= limit else { return .out }
        written += count
        let step = max(step, (limit - (found ?? limit)) / 16)
        // Other processes may have written as much at the same time, so this cannot wait for long.
        if written > 2 * step { return .now }
        guard written > step || found == nil, !isTrimmingSoon else { return .none }
        isTrimmingSoon = true
        return .soon
    }

    /// Whether a write that waited for a survey fits since another survey has ended meanwhile; it is counted then.
    mutating func fitsNow(_ count: Int) -> Bool {
        guard let found, written + count <= 2 * max(step, (limit - found) / 16), found + written + count <= limit else {
            return false
        }
        written += count
        return true
    }

    /// Starts a survey, and returns the number of bytes that were written before it.
    mutating func beginSurvey() -> Int {
        isTrimmingSoon = false
        return written
    }

    /// Whether files have to be removed, and how many bytes are to remain then.
    func target(found total: Int, room: Int) -> Int? {
        total + room > limit - step ? limit - 4 * step - room : nil
    }

    /// Ends a survey, and returns whether there is room for the bytes of a write that waits for it.
    mutating func endSurvey(found total: Int, before: Int, room: Int) -> Bool {
        found = total
        written = max(0, written - before) + room
        return total + room <= limit
    }
}

/// A file as a survey has found it, which may have been replaced or used meanwhile.
struct SurveyedFile: Sendable {
    let name: ResponseFileName
    /// When the file was last changed or used.
    let time: Int64
    let length: Int
}

/// Keeps the files of a store within its budget, by removing the least recently used ones.
final class ResponseSpace: Sendable {
    private static let filesPerRemoval = 32
    private let directory: ResponseDirectory
    private let changes: ResponseFileChanges
    private let spawner: any TaskSpawner
    let budget: Mutex<ResponseSpaceBudget>
    /// Performs surveys of the whole directory, which take long.
    private let trimming = DispatchQueue(label: "decorum.store.trimming", qos: .utility)

    init(limit: Int, changes: ResponseFileChanges, spawner: any TaskSpawner) {
        budget = Mutex(ResponseSpaceBudget(limit: limit))
        directory = changes.directory
        self.changes = changes
        self.spawner = spawner
    }

    /// Accounts for bytes that are about to be written; returns false if there is no room for them.
    func reserve(_ count: Int) async -> Bool {
        switch budget.withLock({ $0.write(count) }) {
        case .none: return true
        case .soon:
            startTrimming()
            return true
        case .now: return await trim(makingRoomFor: count)
        case .out: return false
        }
    }

    /// Starts a survey in the background.
    func startTrimming() {
        spawner.spawn { [self] in _ = await trim(makingRoomFor: 0) }
    }

    private func trim(makingRoomFor room: Int) async -> Bool {
        await trimming.perform { [self] in
            changes.retryRefusedRemoval()
            if room > 0, budget.withLock({ $0.fitsNow(room) }) { return true }
            return survey(room: room) { total, budget in budget.target(found: total, room: room) ?? .max }
        }
    }

    /// Removes files because the disk has no space: as many as a write needs, and a sixteenth of all, so that not each
    /// write needs a survey.
    func makeRoomOnDisk(for count: Int) async {
        _ = await trimming.perform { [self] in
            survey(room: 0) { total, _ in total - max(count, total / 16) }
        }
    }

    /// Lists all files, and removes the least recently used ones down to a number of bytes.
    private func survey(room: Int, downTo target: (_ total: Int, ResponseSpaceBudget) -> Int) -> Bool {
        let before = budget.withLock { $0.beginSurvey() }
        var total = sweepUnfinished()
        if directory.isOfFormerFormat { directory.removeFormerFiles() }
        var files: [SurveyedFile] = []
        for folder in 0..<ResponseDirectory.folderCount {
            for name in (try? directory.list(folder)) ?? [] {
                guard let status = try? directory.fileSystem.status(of: directory.path(of: name)) else { continue }
                files.append(SurveyedFile(name: name, time: status.time, length: status.allocatedLength))
                total += status.allocatedLength
            }
        }
        let limit = target(total, budget.withLock { $0 })
        files.sort { $0.time < $1.time }
        var rest = files[...]
        while total > limit, !rest.isEmpty {
            // In parts, so that other changes need not wait for all of them.
            total -= changes.remove(rest.prefix(Self.filesPerRemoval), until: total - limit)
            rest = rest.dropFirst(Self.filesPerRemoval)
        }
        return budget.withLock { [total] in $0.endSurvey(found: total, before: before, room: room) }
    }

    /// Removes the unfinished files of ended processes, and returns the size of the other unfinished files.
    @discardableResult func sweepUnfinished() -> Int {
        let hour: Int64 = 3_600_000_000_000
        let fileSystem = directory.fileSystem
        let now = fileSystem.time.wall
        return ((try? directory.unfinished()) ?? []).reduce(0) { total, path in
            guard let status = try? fileSystem.status(of: path) else { return total }
            // A process locks its file before it writes the first byte. Without a lock that tells, a process that is
            // still writing has written within the last hour.
            let isHeld = status.length > 0 ? try? fileSystem.isHeld(path) : nil
            guard !(isHeld ?? ((now &- status.time).magnitude <= hour)) else { return total + status.allocatedLength }
            try? fileSystem.remove(path)
            return total
        }
    }
}

/// A queue of a store waits for the disk, so that no thread of the concurrency pool does.
extension DispatchQueue {
    /// Performs work, and returns its result or throws its error; the caller's thread does not wait.
    func perform<Result: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let result = await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Swift.Result { () throws(Failure) in try work() }) }
        }
        return try result.get()
    }
}
