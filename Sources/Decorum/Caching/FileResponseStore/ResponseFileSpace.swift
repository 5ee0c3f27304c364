import Synchronization

/// Keeps the files of a store within a number of bytes, for all processes that work on them.
///
/// Each process counts the bytes that it writes, and measures the files once it has written a hundredth of the limit.
/// So a few processes together exceed the limit by at most a few hundredths.
final class ResponseFileSpace: Sendable {
    private struct State {
        /// The bytes that the files took at the last measurement; nil without a measurement.
        var found: Int?
        /// The bytes that were written since the start of that measurement.
        var written = 0
        var isTrimmingSoon = false
    }

    private enum Urgency {
        case none
        case soon
        case now
    }

    private let limit: Int
    private let folders: ResponseFolders
    private let spawner: any TaskSpawner
    private let state = Mutex(State())
    private let trimming = Mutex(())

    init(
        limit: Int, folders: ResponseFolders,
        spawner: any TaskSpawner
    ) {
        self.limit = limit
        self.folders = folders
        self.spawner = spawner
    }

    /// Accounts for bytes that are about to be written; false where there is no room for them.
    func reserve(_ count: Int) -> Bool {
        let urgency = state.withLock { state in
            state.written += count
            let step = max(limit / 100, (limit - (state.found ?? limit)) / 16)
            // Other processes may have written as much at the same time, so this cannot wait for long.
            if state.written > 2 * step { return Urgency.now }
            guard state.written > step || state.found == nil, !state.isTrimmingSoon else { return .none }
            state.isTrimmingSoon = true
            return .soon
        }
        switch urgency {
        case .none: break
        case .soon: spawner.spawn { [self] in trim(makingRoomFor: 0) }
        case .now: return trim(makingRoomFor: count)
        }
        return true
    }

    /// Measures the files, and removes the least recently used files when there are too many.
    ///
    /// - Returns: Whether there is room for a number of bytes.
    @discardableResult private func trim(makingRoomFor room: Int) -> Bool {
        trimming.withLock { _ in
            let written = state.withLock { state in
                state.isTrimmingSoon = false
                return state.written
            }
            let step = limit / 100
            folders.retryRemovals()
            var (total, files) = survey()
            if total + room > limit - step {
                files.sort { $0.time < $1.time }
                for file in files {
                    guard total + room > limit - 4 * step else { break }
                    // A file that no longer exists has been removed by another process.
                    try? folders.fileSystem.remove(folders.path(of: file.name))
                    total -= file.length
                }
            }
            state.withLock { state in
                state.found = total
                state.written -= written - room
            }
            return total + room <= limit
        }
    }

    private struct File {
        let name: ResponseFileName
        let time: Int64
        let length: Int
    }

    private func survey() -> (total: Int, files: [File]) {
        var files: [File] = []
        var total = sweepUnfinished()
        for folder in 0..<ResponseFolders.count {
            var names: [ResponseFileName] = []
            folders.list(folder) { names.append($0) }
            for name in names {
                guard let status = try? folders.fileSystem.status(of: folders.path(of: name)) else { continue }
                files.append(File(name: name, time: status.time, length: status.allocatedLength))
                total += status.allocatedLength
            }
        }
        return (total, files)
    }

    /// Removes the unfinished files of ended processes, and returns the size of the other unfinished files.
    private func sweepUnfinished() -> Int {
        let hour: Int64 = 3_600_000_000_000
        let now = folders.fileSystem.now
        return ((try? folders.unfinished()) ?? []).reduce(0) { total, file in
            guard let status = try? folders.fileSystem.status(of: file.path) else { return total }
            // A process that is still writing has written within the last hour.
            guard (now &- status.time).magnitude > hour else { return total + status.allocatedLength }
            try? folders.fileSystem.remove(file.path)
            return total
        }
    }
}
