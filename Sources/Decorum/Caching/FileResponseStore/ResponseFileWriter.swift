import Foundation
import Synchronization

/// Writes the file of a stored response in a separate folder, and moves it into its place once it is complete.
///
/// At most a block of the body, and the chunk that is being taken, are in memory: a caller whose chunks arrive faster
/// than the disk writes waits for it.
final class ResponseFileWriter: ResponseWriter {
    private struct State {
        /// The bytes that are not in the file yet.
        var pending: [UInt8]
        /// Where the block begins, in `pending`, that the next bytes of the body belong to.
        var blockStart: Int
        var offset: Int64 = 0
        var bodyLength: Int64 = 0
        var table = ByteWriter()
        /// The first part of the file, once the body is whole; it comes last, unless all was in memory.
        var first: [UInt8]?
        var descriptor: Int32?
        var path: String?
        var isBusy = false
        var isOver = false
    }

    /// The largest part of a chunk that is taken at once.
    private static let partLength = 1 << 20

    private let files: ResponseFiles
    private let digest: ResponseKeyDigest
    private let variant: UInt64
    private let nonce = SystemGenerator().next()
    private let headCapacity: Int
    private let ticket: StoreTicket
    private let replace: @Sendable () -> Bool
    private let state: Mutex<State>
    private var fileSystem: any FileSystem { files.directory.fileSystem }

    /// Creates a writer; nil for a response whose head is too large.
    init?(
        _ response: StoredResponse, key: ResponseKey, ticket: StoreTicket, files: ResponseFiles,
        replace: @escaping @Sendable () -> Bool
    ) {
        guard files.bodyLimit > 0, let head = ResponseFile.head(of: response, key: key), let time = ticket.time
        else { return nil }
        self.files = files
        self.ticket = ticket
        self.replace = replace
        digest = ResponseKeyDigest(key)
        variant = ResponseKeyDigest.digest(ofVariant: response)
        headCapacity = ResponseFile.capacity(forHead: head.count)
        // The first part is known at the end.
        let part = ResponseFile.bytes(ofHead: head, sent: time.wall, nonce: nonce)
        let pending = [UInt8](repeating: 0, count: ResponseFile.firstLength) + part
        let padding = [UInt8](repeating: 0, count: headCapacity - part.count)
        state = Mutex(State(pending: pending + padding, blockStart: pending.count + padding.count))
    }

    deinit {
        // No other reference is left, so the lock is free.
        let state = state.withLock { $0 }
        if !state.isOver { files.discard(state.descriptor, state.path, releasing: Int(clamping: state.bodyLength)) }
    }

    func write(_ chunk: Data) async -> Bool {
        await alone { [self] in
            var rest = chunk[...]
            while !rest.isEmpty {
                let part = rest.prefix(Self.partLength)
                rest = rest.dropFirst(Self.partLength)
                guard let isFull = take(part) else {
                    await files.settle()
                    return false
                }
                if isFull { guard await change({ [self] in try flush(&$0) }) else { return false } }
            }
            return state.withLock { !$0.isOver }
        }
    }

    func finish() async -> Bool {
        await alone { [self] in
            guard seal() else { return false }
            return await change { [self] state in
                _ = try flush(&state)
                if let first = state.first { try fileSystem.write(first[...], to: try open(&state), at: 0) }
                guard let path = state.path else { return false }
                let isPlaced = try files.changes.place(path, digest, variant: variant, ticket, replace: replace)
                if isPlaced { state.path = nil }
                if state.bodyLength > Int64(ResponseFile.blockLength) { files.noteVerified(nonce) }
                abandon(&state)
                return isPlaced
            }
        }
    }

    /// Chunks that are written at the same time have no order, so that they are no body.
    private func alone(_ work: () async -> Bool) async -> Bool {
        guard state.withLock({ !exchange(&$0.isBusy, with: true) }) else { return false }
        defer { state.withLock { $0.isBusy = false } }
        return await work()
    }

    /// Takes bytes of the body into memory, and returns whether there are enough to write; nil when they do not fit.
    private func take(_ chunk: Data) -> Bool? {
        state.withLock { state in
            guard !state.isOver, Int64(chunk.count) <= Int64(files.bodyLimit) - state.bodyLength,
                files.space.budget.withLock({ $0.admit(chunk.count) })
            else {
                abandon(&state)
                return nil
            }
            var rest = chunk[...]
            while !rest.isEmpty {
                let room = ResponseFile.blockLength - (state.pending.count - state.blockStart)
                let part = rest.prefix(room)
                rest = rest.dropFirst(room)
                state.pending += part
                if part.count == room { endBlock(&state) }
            }
            state.bodyLength += Int64(chunk.count)
            return state.blockStart >= ResponseFile.blockLength
        }
    }

    private func endBlock(_ state: inout State) {
        let block = state.table.bytes.count / 8
        state.table.add(
            ResponseFile.checksum(ofBlock: block, state.pending[state.blockStart...], nonce: nonce))
        state.blockStart = state.pending.count
    }

    /// Adds the checksums of the blocks, and makes the first part, which marks the file as complete.
    private func seal() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            if state.pending.count > state.blockStart { endBlock(&state) }
            let file = ResponseFile(
                nonce: nonce, headCapacity: headCapacity, bodyLength: state.bodyLength, variant: variant,
                table: state.table.bytes)
            state.pending += state.table.bytes
            state.blockStart = state.pending.count
            if state.offset == 0 {
                state.pending.replaceSubrange(..<ResponseFile.firstLength, with: file.first)
            } else {
                state.first = file.first
            }
            return true
        }
    }

    /// Writes the whole blocks in memory to the file; returns true, as the end of a change.
    private func flush(_ state: inout State) throws -> Bool {
        let isNew = state.descriptor == nil
        let descriptor = try open(&state)
        // A removal that comes later finds the file; one that came before may have removed a user's responses.
        if isNew, try !files.changes.isWanted(ticket, digest) { throw SystemError(code: ECANCELED) }
        // The last block stays, since its checksum needs it whole.
        let count = state.blockStart
        guard count > 0 else { return true }
        try fileSystem.write(state.pending[..<count], to: descriptor, at: state.offset)
        state.offset += Int64(count)
        state.blockStart = 0
        state.pending.removeFirst(count)
        return true
    }

    private func open(_ state: inout State) throws -> Int32 {
        if let descriptor = state.descriptor { return descriptor }
        let path = files.directory.newUnfinishedPath(digest, nonce: nonce)
        let descriptor = try files.directory.prepared { try fileSystem.create(path) }
        (state.descriptor, state.path) = (descriptor, path)
        return descriptor
    }

    /// Performs a change that writes the bytes in memory; if it fails, nothing is kept.
    private func change(_ work: @escaping @Sendable (inout State) throws -> Bool) async -> Bool {
        let count = state.withLock { FileStatus.allocatedLength($0.pending.count) }
        let isDone =
            await files.space.reserve(count)
            ? await files.change(writing: count) { [self] in try state.withLock { try work(&$0) } } : nil
        if isDone == true { return true }
        state.withLock { abandon(&$0) }
        await files.settle()
        return false
    }

    /// Lets go of the file, and of what is not written.
    private func abandon(_ state: inout State) {
        guard !state.isOver else { return }
        files.discard(state.descriptor, state.path, releasing: Int(clamping: state.bodyLength))
        (state.descriptor, state.path, state.pending, state.isOver) = (nil, nil, [], true)
    }
}
