import Foundation
import Synchronization

/// The changes of what a store's directory holds, all made on one thread and under the lock that other stores respect.
///
/// So the check whether a response is still wanted and its move into place are one step, and a removal comes before or
/// after it.
final class ResponseFileChanges: Sendable {
    let directory: ResponseDirectory
    let tickets: StoreTickets
    private let marks: RemovalMarks
    private let refused = RefusedRemovals()
    private let markCount = Atomic(0)
    private static let marksPerSweep = 1000
    private var fileSystem: any FileSystem { directory.fileSystem }

    init(_ directory: ResponseDirectory, tickets: StoreTickets) {
        self.directory = directory
        self.tickets = tickets
        marks = RemovalMarks(directory)
    }

    /// Whether no removal, through this store or another, has come after a ticket.
    private func isWanted(_ ticket: StoreTicket, _ digest: ResponseKeyDigest) throws -> Bool {
        guard tickets.isCurrent(ticket), let time = ticket.time, time.isComparable(at: fileSystem.time) else {
            return false
        }
        return try marks.lastRemoval(of: digest, mayWait: true) < time.wall
    }

    /// Whether a stored response answers a later request than a ticket's; a time in the future counts for nothing.
    private func isLater(_ state: ResponseFileState, than ticket: StoreTicket) -> Bool {
        guard let time = ticket.time else { return false }
        return state.slot.sent > time.wall && state.slot.sent <= fileSystem.time.wall
    }

    /// Moves a file that is whole now into its place, if its response is still wanted.
    ///
    /// - Returns: Whether it was moved; otherwise the caller removes it.
    func place(
        _ path: String, _ digest: ResponseKeyDigest, variant: UInt64, _ ticket: StoreTicket, onPlaced: () -> Void
    ) throws -> Bool {
        try directory.locked {
            guard try isWanted(ticket, digest) else { return false }
            try directory.prepareFolder(digest.folder)
            let states = states(of: digest)
            if let same = states.first(where: { $0?.layout.variant == variant }) ?? nil, isLater(same, than: ticket) {
                return false
            }
            let index = position(of: variant, among: states, digest)
            // The first file carries the number of files.
            if index == 0, states.count > 1 { try setVariantCount(states.count, of: path) }
            try fileSystem.rename(path, to: directory.path(of: ResponseFileName(digest: digest, index: index)))
            if index > 0, index == states.count {
                let first = directory.path(of: ResponseFileName(digest: digest, index: 0))
                try setVariantCount(index + 1, of: first)
            }
            onPlaced()
            return true
        }
    }

    /// The files of a key in their order, as the first of them counts them; nil for one that is missing or damaged.
    private func states(of digest: ResponseKeyDigest) -> [ResponseFileState?] {
        guard let first = state(of: ResponseFileName(digest: digest, index: 0)) else { return [] }
        return [first] + (1..<first.layout.variantCount).map { state(of: ResponseFileName(digest: digest, index: $0)) }
    }

    private func state(of name: ResponseFileName) -> ResponseFileState? {
        guard let descriptor = try? fileSystem.open(directory.path(of: name), mayWait: true) else { return nil }
        defer { fileSystem.close(descriptor) }
        return ResponseFileState(descriptor, fileSystem)
    }

    /// The position of the same variant, or a free one, or that of the least recently used variant.
    private func position(
        of variant: UInt64, among states: [ResponseFileState?], _ digest: ResponseKeyDigest
    ) -> Int {
        if let same = states.firstIndex(where: { $0?.layout.variant == variant }) { return same }
        if let free = states.firstIndex(where: { $0 == nil }) { return free }
        guard states.count >= MemoryResponseStore.variantLimit else { return states.count }
        let times = states.indices.map { index in
            let path = directory.path(of: ResponseFileName(digest: digest, index: index))
            return (index: index, time: (try? fileSystem.status(of: path, mayWait: true))?.time ?? .min)
        }
        return times.min { $0.time < $1.time }?.index ?? 0
    }

    private func setVariantCount(_ count: Int, of path: String) throws {
        let descriptor = try fileSystem.openForWriting(path)
        defer { fileSystem.close(descriptor) }
        let bytes = ResponseFileLayout.bytes(ofVariantCount: count)
        try fileSystem.write(bytes, to: descriptor, at: ResponseFileLayout.variantCountOffset)
    }

    enum HeadChange: Sendable {
        case done
        /// The head needs more room than the file has for it.
        case tooLong
        /// The head is not wanted any more, or the file with the same body is gone.
        case outdated
    }

    /// Writes a head over the older head of the file with the same body; does nothing when there is no such file.
    func replaceHead(
        _ head: [UInt8], nonce: UInt64, _ digest: ResponseKeyDigest, _ ticket: StoreTicket
    ) throws -> HeadChange {
        try directory.locked {
            guard try isWanted(ticket, digest), let time = ticket.time else { return .outdated }
            let states = states(of: digest)
            guard let index = states.firstIndex(where: { $0?.layout.nonce == nonce }), let state = states[index],
                !isLater(state, than: ticket)
            else { return .outdated }
            let bytes = ResponseHeadSlot.bytes(
                number: state.slot.number + 1, sent: time.wall, head: head, nonce: nonce)
            guard bytes.count <= state.layout.slotLength else { return .tooLong }
            let path = directory.path(of: ResponseFileName(digest: digest, index: index))
            let descriptor = try fileSystem.openForWriting(path)
            defer { fileSystem.close(descriptor) }
            try fileSystem.write(bytes, to: descriptor, at: state.layout.offset(ofSlot: 1 - state.slotIndex))
            return .done
        }
    }

    /// Removes the file of a variant, in whose place a response is kept in memory.
    func removeVariant(_ variant: UInt64, _ digest: ResponseKeyDigest, _ ticket: StoreTicket) {
        let isDone = succeeds {
            try directory.locked {
                let states = states(of: digest)
                guard let index = states.firstIndex(where: { $0?.layout.variant == variant }),
                    let state = states[index],
                    !isLater(state, than: ticket)
                else { return }
                try remove(index, of: digest, among: states)
            }
        }
        if !isDone { refused.add(.key(digest), at: fileSystem.time.wall) }
    }

    /// Removes one of the files of a key; the last one takes the place of the first, which has the number of files.
    private func remove(_ index: Int, of digest: ResponseKeyDigest, among states: [ResponseFileState?]) throws {
        let path = directory.path(of: ResponseFileName(digest: digest, index: index))
        guard index == 0, let last = states.lastIndex(where: { $0 != nil }), last > 0 else {
            return try fileSystem.remove(path)
        }
        let lastPath = directory.path(of: ResponseFileName(digest: digest, index: last))
        try setVariantCount(last, of: lastPath)
        try fileSystem.rename(lastPath, to: path)
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
        let isDone = removeFiles(of: removal) { _ in true }
        if !isMarked || !isDone { refused.add(removal, at: fileSystem.time.wall) }
    }

    /// Tries again to remove the files that the disk did not remove; responses to later requests stay.
    func retryRefusedRemovals() {
        for entry in refused.all {
            let isMarked = mark(entry.removal, at: entry.time)
            let isDone = removeFiles(of: entry.removal) { name in
                state(of: name).map { $0.slot.sent <= entry.time } ?? true
            }
            if isMarked, isDone { refused.drop(entry) }
        }
    }

    /// Whether the file of a response, whose request was sent at a time, should be gone.
    func isRemoved(_ name: ResponseFileName, sentAt time: Int64) -> Bool {
        refused.cover(name, sentAt: time)
    }

    /// Marks a removal for other stores, and returns whether that was possible.
    private func mark(_ removal: ResponseFileRemoval, at time: Int64) -> Bool {
        succeeds {
            // A request that leaves while this waits for the lock is not affected.
            try directory.locked {
                try marks.add(removal, at: time)
                let count = markCount.add(1, ordering: .relaxed).newValue
                if count.isMultiple(of: Self.marksPerSweep) { try marks.sweep() }
            }
        }
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
