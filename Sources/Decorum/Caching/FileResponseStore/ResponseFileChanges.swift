import Foundation
import Synchronization

/// The changes of what a store's directory holds, all made under the lock that other stores respect.
final class ResponseFileChanges: Sendable {
    let directory: ResponseDirectory
    private let tickets: StoreTickets
    /// The time of a removal that the disk has refused, as while too many files are open; nil without one.
    private let refused = Mutex<Int64?>(nil)
    private var fileSystem: any FileSystem { directory.fileSystem }

    init(_ directory: ResponseDirectory, tickets: StoreTickets) {
        self.directory = directory
        self.tickets = tickets
    }

    /// The time of the last removal that covers a key in this process; 0 without one.
    ///
    /// A removal that was refused covers everything, until it has succeeded.
    func lastRemoval(of digest: ResponseKeyDigest, mayWait: Bool) throws -> Int64 {
        max(try directory.lastRemoval(of: digest, mayWait: mayWait), refused.withLock { $0 } ?? 0)
    }

    /// Whether no removal, through this store or another, has come after a ticket.
    func isWanted(_ ticket: StoreTicket, _ digest: ResponseKeyDigest) throws -> Bool {
        guard tickets.isCurrent(ticket), let time = ticket.time, time.isComparable(at: fileSystem.time) else {
            return false
        }
        return try lastRemoval(of: digest, mayWait: true) < time.wall
    }

    /// Whether a stored response answers a later request than a ticket's; a time in the future counts for nothing.
    private func isLater(_ file: ResponseFile?, than ticket: StoreTicket) -> Bool {
        guard let file, let time = ticket.time else { return false }
        return file.sent > time.wall && !isOfFuture(file)
    }

    private func isOfFuture(_ file: ResponseFile) -> Bool { file.sent > fileSystem.time.wall }

    /// Moves a file that is whole now into its place, if its response is still wanted; if not, the caller removes it.
    ///
    /// The closure removes the variant from memory first. It returns false, and the file is not moved, if memory has the
    /// response to a later request.
    func place(
        _ path: String, _ digest: ResponseKeyDigest, variant: UInt64, _ ticket: StoreTicket, replace: () -> Bool
    ) throws -> Bool {
        try directory.locked {
            guard try isWanted(ticket, digest) else { return false }
            try directory.prepareFolder(digest.folder)
            let files = files(of: digest)
            let same = files.firstIndex { $0?.variant == variant }
            if let same, isLater(files[same], than: ticket) { return false }
            guard replace() else { return false }
            let index = same ?? freePosition(among: files)
            // The first file carries the number of files.
            if index == 0, files.count > 1 { try ResponseFile.setVariantCount(files.count, of: path, fileSystem) }
            try fileSystem.rename(path, to: self.path(digest, index))
            if index > 0, index == files.count {
                try ResponseFile.setVariantCount(index + 1, of: self.path(digest, 0), fileSystem)
            }
            return true
        }
    }

    /// A free position, or the position of the response to the earliest request.
    private func freePosition(among files: [ResponseFile?]) -> Int {
        if let free = files.firstIndex(where: { $0 == nil }) { return free }
        guard files.count >= MemoryResponseStore.variantLimit else { return files.count }
        return files.indices.min { files[$0]?.sent ?? .min < files[$1]?.sent ?? .min } ?? 0
    }

    private func path(_ digest: ResponseKeyDigest, _ index: Int) -> String {
        directory.path(of: ResponseFileName(digest: digest, index: index))
    }

    /// The files of a key in their order, as the first of them counts them; nil for one that is missing or damaged.
    private func files(of digest: ResponseKeyDigest) -> [ResponseFile?] {
        guard let first = file(path(digest, 0)) else { return [] }
        return [first] + (1..<first.variantCount).map { file(path(digest, $0)) }
    }

    private func file(_ path: String) -> ResponseFile? {
        guard let descriptor = try? fileSystem.open(path, mayWait: true) else { return nil }
        defer { fileSystem.close(descriptor) }
        guard let status = try? fileSystem.status(of: descriptor), status.kind == .regular else { return nil }
        return (try? ResponseFile.read(descriptor, status.length, fileSystem, mayWait: true))?.file
    }

    enum HeadChange: Sendable {
        case done
        /// The head needs more room than the file has for it.
        case tooLong
        /// The head is no longer wanted, or the file with the same body is gone.
        case outdated
    }

    /// Replaces the head of the file with the same body; does nothing without such a file.
    func replaceHead(
        _ head: [UInt8], nonce: UInt64, _ digest: ResponseKeyDigest, _ ticket: StoreTicket
    ) throws -> HeadChange {
        try directory.locked {
            guard try isWanted(ticket, digest), let time = ticket.time else { return .outdated }
            let files = files(of: digest)
            guard let index = files.firstIndex(where: { $0?.nonce == nonce }), let file = files[index],
                file.sent > .min, !isLater(file, than: ticket)
            else { return .outdated }
            let bytes = ResponseFile.bytes(ofHead: head, sent: time.wall, nonce: nonce)
            guard bytes.count <= file.headCapacity else { return .tooLong }
            try ResponseFile.setHead(bytes, of: path(digest, index), fileSystem)
            return .done
        }
    }

    /// Has a response kept in memory in place of the file of its variant, unless the file answers a later request;
    /// returns whether it is kept.
    func replaceVariant(
        _ variant: UInt64, _ digest: ResponseKeyDigest, _ ticket: StoreTicket, by keep: () -> Bool
    ) -> Bool {
        var isKept: Bool?
        let isDone = succeeds {
            try directory.locked {
                let files = files(of: digest)
                let index = files.firstIndex { $0?.variant == variant }
                if let index, isLater(files[index], than: ticket) {
                    isKept = false
                    return
                }
                isKept = keep()
                if isKept == true, let index, let file = files[index] { try remove(file, index, digest, among: files) }
            }
        }
        // Without access to the directory, no file of the variant is found either.
        let result = isKept ?? keep()
        // A removal at the time of the request itself would remove its response from memory too.
        if result, !isDone { refuse(at: (ticket.time?.wall ?? fileSystem.time.wall) - 1) }
        return result
    }

    /// Removes one of the files of a key; if it has the number of files that stay, it keeps its place without a head.
    private func remove(
        _ file: ResponseFile, _ index: Int, _ digest: ResponseKeyDigest, among files: [ResponseFile?]
    ) throws {
        guard index == 0, files.dropFirst().contains(where: { $0 != nil }) else {
            return try fileSystem.remove(path(digest, index))
        }
        let empty = ResponseFile.bytes(ofHead: [], sent: .min, nonce: file.nonce)
        try ResponseFile.setHead(empty, of: path(digest, 0), fileSystem)
    }

    /// Removes the files of a key that answer earlier requests than a ticket's, if the ticket is wanted.
    func removeFiles(of digest: ResponseKeyDigest, before ticket: StoreTicket) {
        guard let time = ticket.time else { return }
        let isDone = succeeds {
            try directory.locked {
                guard try isWanted(ticket, digest) else { return }
                try directory.note(.key(digest), at: time.wall - 1)
                let files = files(of: digest)
                guard files.contains(where: { isLater($0, than: ticket) }) else {
                    return try removeAll(files.count, of: digest)
                }
                for (index, file) in files.enumerated().reversed() {
                    guard let file, file.sent > .min, !isLater(file, than: ticket) else { continue }
                    try remove(file, index, digest, among: files)
                }
            }
        }
        if !isDone { refuse(at: time.wall - 1) }
    }

    /// Removes the files of a key; the first file comes last, since the others are found by its number of files.
    private func removeAll(_ count: Int, of digest: ResponseKeyDigest) throws {
        for index in (0..<count).reversed() {
            do {
                try fileSystem.remove(path(digest, index))
            } catch SystemError.noEntry {}
        }
    }

    /// Removes files that were neither used nor changed since a survey, until a number of bytes is free; returns
    /// the number that they took.
    func remove(_ files: some Sequence<SurveyedFile>, until count: Int) -> Int {
        var removed = 0
        try? directory.locked {
            for surveyed in files where removed < count {
                let path = directory.path(of: surveyed.name)
                guard (try? fileSystem.status(of: path))?.time == surveyed.time else { continue }
                // The others of its key are not found without the first file, and are as old.
                let total = surveyed.name.index == 0 ? file(path)?.variantCount ?? 1 : 1
                let isDone = succeeds {
                    if total > 1 { try removeAll(total, of: surveyed.name.digest) } else { try fileSystem.remove(path) }
                }
                if isDone { removed += surveyed.length }
            }
        }
        return removed
    }

    /// Removes the files that a removal covers, and lets other stores know.
    ///
    /// If the disk refuses a part of it, everything counts as removed in this process, and is removed later.
    func remove(_ removal: ResponseRemoval) {
        retryRefusedRemoval()
        let time = fileSystem.time.wall
        if !carryOut(removal, at: time) { refuse(at: time) }
    }

    /// Removes everything but the responses to later requests if a removal was refused.
    func retryRefusedRemoval() {
        guard let time = refused.withLock({ $0 }) else { return }
        let isDone = carryOut(.all, at: time) { path in
            // An unfinished file that a process holds may answer a later request.
            file(path).map { $0.sent <= time || isOfFuture($0) } ?? ((try? fileSystem.isHeld(path)) != true)
        }
        if isDone { refused.withLock { if $0 == time { $0 = nil } } }
    }

    /// Carries out a removal, and returns whether all of it was possible.
    private func carryOut(
        _ removal: ResponseRemoval, at time: Int64, where isCovered: (_ path: String) -> Bool = { _ in true }
    ) -> Bool {
        var isDone = succeeds {
            do {
                try directory.locked { try directory.note(removal, at: time) }
            } catch SystemError.isLocked {
                // Another process is suspended in a change, and finds the time when it goes on.
                try directory.note(removal, at: time)
            }
        }
        var lists: [() throws -> [String]] = [{ [directory] in try directory.unfinished(where: removal.covers) }]
        for folder in removal.folders {
            lists.append { [directory] in try directory.list(folder).filter(removal.covers).map(directory.path(of:)) }
        }
        for list in lists {
            var paths: [String] = []
            if !succeeds({ paths = try list() }) { isDone = false }
            for path in paths where isCovered(path) && !succeeds({ try fileSystem.remove(path) }) { isDone = false }
        }
        return isDone
    }

    private func refuse(at time: Int64) {
        refused.withLock { $0 = max($0 ?? time, time) }
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
}
