import Synchronization

private let marksPerSweep = 1000

extension ResponseFileChanges {
    /// Has a response kept in memory in place of the file of its variant, unless the file answers a later request.
    ///
    /// - Returns: Whether the response is kept.
    func replaceVariant(
        _ variant: UInt64, _ digest: ResponseKeyDigest, _ ticket: StoreTicket, by keep: () -> Bool
    ) -> Bool {
        var isKept: Bool?
        let isDone = succeeds {
            try directory.locked {
                let states = states(of: digest)
                let index = states.firstIndex { $0?.layout.variant == variant }
                if let index, let state = states[index], isLater(state, than: ticket) {
                    isKept = false
                    return
                }
                isKept = keep()
                if isKept == true, let index { try remove(index, of: digest, among: states) }
            }
        }
        // Without access to the directory, no file of the variant is found either.
        let result = isKept ?? keep()
        // A removal at the time of the request itself would remove its response from memory too.
        if result, !isDone { refused.add(.key(digest), at: (ticket.time?.wall ?? fileSystem.time.wall) - 1) }
        return result
    }

    /// Removes the files of a key that answer earlier requests than that of a ticket, if the ticket is wanted.
    func removeFiles(of digest: ResponseKeyDigest, before ticket: StoreTicket) {
        guard let time = ticket.time else { return }
        let isDone = succeeds {
            try directory.locked {
                guard try isWanted(ticket, digest) else { return }
                var states = states(of: digest)
                // The first file comes last, since another takes its place.
                for index in states.indices.reversed() {
                    guard let state = states[index], !isLater(state, than: ticket) else { continue }
                    try remove(index, of: digest, among: states)
                    states[index] = nil
                }
            }
        }
        if !isDone { refused.add(.key(digest), at: time.wall) }
    }

    /// Removes one of the files of a key; the last one takes the place of the first, which has the number of files.
    private func remove(_ index: Int, of digest: ResponseKeyDigest, among states: [ResponseFileState?]) throws {
        let path = directory.path(of: ResponseFileName(digest: digest, index: index))
        guard index == 0, let last = states.lastIndex(where: { $0 != nil }), last > 0 else {
            return try fileSystem.remove(path)
        }
        let lastPath = directory.path(of: ResponseFileName(digest: digest, index: last))
        let time = try fileSystem.status(of: lastPath, mayWait: true).time
        try setVariantCount(last, of: lastPath)
        try fileSystem.rename(lastPath, to: path)
        // The file was not used, so that it stays as old as it was.
        try? fileSystem.setTime(of: path, to: time)
    }

    /// Removes files that were neither used nor changed since a survey, until a number of bytes is free.
    ///
    /// - Returns: The number of bytes that the removed files took.
    func remove(_ files: some Sequence<SurveyedFile>, until count: Int) -> Int {
        var removed = 0
        try? directory.locked {
            for file in files where removed < count {
                let path = directory.path(of: file.name)
                guard (try? fileSystem.status(of: path, mayWait: true))?.time == file.time else { continue }
                let states = file.name.index == 0 ? states(of: file.name.digest) : []
                do {
                    try remove(file.name.index, of: file.name.digest, among: states)
                } catch {
                    continue
                }
                removed += file.length
            }
        }
        return removed
    }

    /// Removes a file if it is still damaged while no other store changes it.
    func removeDamaged(_ name: ResponseFileName, isDamaged: (_ path: String) -> Bool) {
        let path = directory.path(of: name)
        _ = succeeds {
            try directory.locked {
                if isDamaged(path) { try fileSystem.remove(path) }
            }
        }
    }

    /// Removes the file with a body that was found damaged, unless another is in its place.
    func removeDamaged(_ name: ResponseFileName, nonce: UInt64) {
        _ = succeeds {
            try directory.locked {
                guard state(of: name)?.layout.nonce == nonce else { return }
                try fileSystem.remove(directory.path(of: name))
            }
        }
    }

    /// Removes the files that a removal covers, and lets other stores know.
    ///
    /// Files that the disk does not remove count as removed until a later attempt succeeds.
    func remove(_ removal: ResponseFileRemoval) {
        retryRefusedRemovals()
        let time = fileSystem.time.wall
        let isMarked = mark(removal, at: time)
        let isUnfinishedDone = removeUnfinished(of: removal) { _ in true }
        let isDone = removeFiles(of: removal) { _ in true }
        if !isMarked || !isUnfinishedDone || !isDone { refused.add(removal, at: fileSystem.time.wall) }
    }

    /// Tries again to remove the files that the disk did not remove; responses to later requests stay.
    func retryRefusedRemovals() {
        for entry in refused.all {
            let isMarked = mark(entry.removal, at: entry.time)
            // A file that is being written may be that of a later request.
            let isUnfinishedDone = removeUnfinished(of: entry.removal) { try !fileSystem.isHeld($0) }
            let isDone = removeFiles(of: entry.removal) { name in
                state(of: name).map { entry.comesAfter(requestAt: $0.slot.sent, now: fileSystem.time.wall) } ?? true
            }
            if isMarked, isUnfinishedDone, isDone { refused.drop(entry) }
        }
    }

    /// Whether the file of a response, whose request was sent at a time, should be gone.
    func isRemoved(_ name: ResponseFileName, sentAt time: Int64) -> Bool {
        refused.cover(name, sentAt: time, now: fileSystem.time.wall)
    }

    /// Marks a removal for other stores, and returns whether that was possible.
    private func mark(_ removal: ResponseFileRemoval, at time: Int64) -> Bool {
        succeeds {
            // A request that leaves while this waits for the lock is not affected.
            try directory.locked {
                try marks.add(removal, at: time)
                let count = markCount.add(1, ordering: .relaxed).newValue
                if count.isMultiple(of: marksPerSweep) { try marks.sweep() }
            }
        }
    }

    /// Removes the unfinished files of a removal, and returns whether that was possible.
    ///
    /// The writer of such a file finds the mark, or has ended.
    private func removeUnfinished(of removal: ResponseFileRemoval, where isCovered: (String) throws -> Bool) -> Bool {
        var isDone = true
        let isListed = succeeds {
            for path in try directory.unfinished(where: removal.covers) {
                isDone = succeeds { if try isCovered(path) { try fileSystem.remove(path) } } && isDone
            }
        }
        return isListed && isDone
    }

    /// Removes the files of a removal, and returns whether none is left.
    private func removeFiles(of removal: ResponseFileRemoval, where isCovered: (ResponseFileName) -> Bool) -> Bool {
        // A response that was checked before the mark was made is in its place now, and found by the lists.
        var isDone = true
        for folder in removal.folder.map({ $0...$0 }) ?? 0...ResponseDirectory.folderCount - 1 {
            var names: [ResponseFileName] = []
            isDone = succeeds { try directory.list(folder) { if removal.covers($0) { names.append($0) } } } && isDone
            for name in names where isCovered(name) {
                isDone = succeeds { try fileSystem.remove(directory.path(of: name)) } && isDone
            }
        }
        return isDone
    }

    /// Whether an operation succeeded, or the file did not exist.
    private func succeeds(_ work: () throws -> Void) -> Bool {
        do {
            try work()
        } catch {
            return error as? SystemError == .noEntry
        }
        return true
    }

    /// Deletes the marks of old removals.
    func sweepMarks() {
        _ = succeeds { try directory.locked { try marks.sweep() } }
    }
}
