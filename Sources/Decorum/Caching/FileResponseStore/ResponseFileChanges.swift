import Foundation
import Synchronization

/// The changes of what a store's directory holds, all made on one thread and under the lock that other stores respect.
///
/// So the check whether a response is still wanted and its move into place are one step, and a removal comes before or
/// after it.
final class ResponseFileChanges: Sendable {
    let directory: ResponseDirectory
    let tickets: StoreTickets
    let marks: RemovalMarks
    let refused = RefusedRemovals()
    let markCount = Atomic(0)
    var fileSystem: any FileSystem { directory.fileSystem }

    init(_ directory: ResponseDirectory, tickets: StoreTickets) {
        self.directory = directory
        self.tickets = tickets
        marks = RemovalMarks(directory)
    }

    /// Whether no removal, through this store or another, has come after a ticket.
    func isWanted(_ ticket: StoreTicket, _ digest: ResponseKeyDigest) throws -> Bool {
        guard tickets.isCurrent(ticket), let time = ticket.time, time.isComparable(at: fileSystem.time) else {
            return false
        }
        return try marks.lastRemoval(of: digest, mayWait: true) < time.wall
    }

    /// Whether a stored response answers a later request than a ticket's; a time in the future counts for nothing.
    func isLater(_ state: ResponseFileState, than ticket: StoreTicket) -> Bool {
        guard let time = ticket.time else { return false }
        return state.slot.sent > time.wall && state.slot.sent <= fileSystem.time.wall
    }

    /// Moves a file that is whole now into its place, if its response is still wanted.
    ///
    /// The closure removes the variant from memory first. It returns false, and the file is not moved, where memory has
    /// the response to a later request.
    ///
    /// - Returns: Whether the file was moved; otherwise the caller removes it.
    func place(
        _ path: String, _ digest: ResponseKeyDigest, variant: UInt64, _ ticket: StoreTicket, replace: () -> Bool
    ) throws -> Bool {
        try directory.locked {
            guard try isWanted(ticket, digest) else { return false }
            try directory.prepareFolder(digest.folder)
            let states = states(of: digest)
            if let same = states.first(where: { $0?.layout.variant == variant }) ?? nil, isLater(same, than: ticket) {
                return false
            }
            guard replace() else { return false }
            let index = position(of: variant, among: states, digest)
            // The first file carries the number of files.
            if index == 0, states.count > 1 { try setVariantCount(states.count, of: path) }
            try fileSystem.rename(path, to: directory.path(of: ResponseFileName(digest: digest, index: index)))
            if index > 0, index == states.count {
                let first = directory.path(of: ResponseFileName(digest: digest, index: 0))
                try setVariantCount(index + 1, of: first)
            }
            return true
        }
    }

    /// The files of a key in their order, as the first of them counts them; nil for one that is missing or damaged.
    func states(of digest: ResponseKeyDigest) -> [ResponseFileState?] {
        guard let first = state(of: ResponseFileName(digest: digest, index: 0)) else { return [] }
        return [first] + (1..<first.layout.variantCount).map { state(of: ResponseFileName(digest: digest, index: $0)) }
    }

    func state(of name: ResponseFileName) -> ResponseFileState? {
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

    func setVariantCount(_ count: Int, of path: String) throws {
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
}
