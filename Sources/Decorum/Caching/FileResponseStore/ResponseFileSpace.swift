import Synchronization

/// Keeps the files of a store within its budget, by removing the least recently used ones.
final class ResponseFileSpace: Sendable {
    private let directory: ResponseDirectory
    private let changes: ResponseFileChanges
    private let threads: DiskThreads
    private let spawner: any TaskSpawner
    private let budget: Mutex<ResponseSpaceBudget>
    /// The least recently used files that the last survey has left, the oldest last.
    private let oldest = Mutex<[SurveyedFile]>([])

    init(limit: Int, changes: ResponseFileChanges, threads: DiskThreads, spawner: any TaskSpawner) {
        budget = Mutex(ResponseSpaceBudget(limit: limit))
        directory = changes.directory
        self.changes = changes
        self.threads = threads
        self.spawner = spawner
    }

    /// Admits bytes of a body that is being received.
    func admit(_ count: Int) -> Bool {
        budget.withLock { $0.admit(count) }
    }

    func release(_ count: Int) {
        budget.withLock { $0.release(count) }
    }

    /// Accounts for bytes that are about to be written; false where there is no room for them.
    func reserve(_ count: Int) async -> Bool {
        switch budget.withLock({ $0.write(count) }) {
        case .none: break
        case .soon: startTrimming()
        case .now:
            // A survey takes longer the more files there are, so a body does not wait for one if old files are known.
            guard budget.withLock({ $0.isNearLimit }), await removeOldest(atLeast: count) else {
                return await trim(makingRoomFor: count)
            }
            if budget.withLock({ $0.free(count) }) { startTrimming() }
        case .out: return false
        }
        return true
    }

    private func startTrimming() {
        spawner.spawn { [self] in _ = await trim(makingRoomFor: 0) }
    }

    /// Removes the least recently used files that are known, and returns whether they took as many bytes.
    private func removeOldest(atLeast count: Int) async -> Bool {
        await threads.changing.perform { [self] in
            var removed = 0
            while removed < count {
                guard let file = oldest.withLock({ $0.popLast() }) else { return false }
                removed += changes.remove(CollectionOfOne(file), until: .max)
            }
            return true
        }
    }

    private func trim(makingRoomFor room: Int) async -> Bool {
        await threads.changing.perform { [changes] in
            changes.retryRefusedRemovals()
            changes.sweepMarks()
        }
        return await threads.trimming.perform { [self] in
            if room > 0, budget.withLock({ $0.fitsNow(room) }) { return true }
            let before = budget.withLock { $0.beginSurvey() }
            var survey = survey()
            let target = budget.withLock { [total = survey.total] in $0.target(found: total, room: room) }
            remove(from: &survey, downTo: target ?? .max)
            return budget.withLock { [total = survey.total] in
                $0.endSurvey(found: total, before: before, room: room)
            }
        }
    }

    /// Removes files because the disk has no space: as many as a write needs, and a sixteenth of all where that takes a
    /// survey, so that not each write does so.
    func makeRoomOnDisk(for count: Int) async {
        if await removeOldest(atLeast: count) { return }
        await threads.trimming.perform { [self] in
            let before = budget.withLock { $0.beginSurvey() }
            var survey = survey()
            remove(from: &survey, downTo: survey.total - max(count, survey.total / 16))
            _ = budget.withLock { [total = survey.total] in $0.endSurvey(found: total, before: before, room: 0) }
        }
    }

    private static let filesPerRemoval = 32
    private static let oldestLimit = 4096

    private struct Survey {
        var files: [SurveyedFile] = []
        var total = 0
    }

    private func remove(from survey: inout Survey, downTo target: Int) {
        survey.files.sort { $0.time < $1.time }
        var rest = survey.files[...]
        while survey.total > target, !rest.isEmpty {
            let (part, count) = (rest.prefix(Self.filesPerRemoval), survey.total - target)
            // In parts, so that other changes need not wait for all of them.
            survey.total -= threads.changing.performAndWait { changes.remove(part, until: count) }
            rest = rest.dropFirst(part.count)
        }
        oldest.withLock { $0 = rest.prefix(Self.oldestLimit).reversed() }
    }

    private func survey() -> Survey {
        var survey = Survey()
        survey.total = sweepUnfinished()
        for folder in 0..<ResponseDirectory.folderCount {
            for path in directory.outdated(folder) { try? directory.fileSystem.remove(path) }
            var names: [ResponseFileName] = []
            try? directory.list(folder) { names.append($0) }
            for name in names {
                let path = directory.path(of: name)
                guard let status = try? directory.fileSystem.status(of: path, mayWait: true) else { continue }
                survey.files.append(.init(name: name, time: status.time, length: status.allocatedLength))
                survey.total += status.allocatedLength
            }
        }
        return survey
    }

    /// Removes the unfinished files of ended processes, and returns the size of the other unfinished files.
    @discardableResult func sweepUnfinished() -> Int {
        let hour: Int64 = 3_600_000_000_000
        let now = directory.fileSystem.time.wall
        return ((try? directory.unfinished()) ?? []).reduce(0) { total, path in
            guard let status = try? directory.fileSystem.status(of: path, mayWait: true) else { return total }
            // A process locks its file before it writes the first byte. Where no lock tells, a process that is still
            // writing has written within the last hour.
            let isHeld = status.length > 0 ? try? directory.fileSystem.isHeld(path) : nil
            guard !(isHeld ?? ((now &- status.time).magnitude <= hour)) else { return total + status.allocatedLength }
            try? directory.fileSystem.remove(path)
            return total
        }
    }
}

/// A file as a survey has found it, which may have been replaced or used meanwhile.
struct SurveyedFile: Sendable {
    let name: ResponseFileName
    /// When the file was last changed or used.
    let time: Int64
    let length: Int
}
