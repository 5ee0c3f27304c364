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
        /// The first part of the file, once the body is whole.
        var layout: ResponseFileLayout?
        /// Whether all was in memory at the end, with the first part in its place.
        var startsWithLayout = false
        var descriptor: Int32?
        var path: String?
        var isOver = false
    }

    /// The largest part of a chunk that is taken at once.
    private static let partLength = 1 << 20

    private let files: ResponseFiles
    private let digest: ResponseKeyDigest
    private let variant: UInt64
    private let nonce = SystemGenerator().next()
    private let slotLength: Int
    private let ticket: StoreTicket
    private let replace: @Sendable () -> Bool
    private let state: Mutex<State>
    private let isBusy = Atomic(false)

    /// Creates a writer; nil for a response whose head is too large.
    ///
    /// - Parameters:
    ///   - response: The response; its body is what is written.
    ///   - key: The key of the response.
    ///   - ticket: The ticket of the request that the response answers.
    ///   - files: The files of the store.
    ///   - replace: Is called in the step in which the file is moved into its place; returns whether it may be moved.
    init?(
        _ response: StoredResponse, key: ResponseKey, ticket: StoreTicket, files: ResponseFiles,
        replace: @escaping @Sendable () -> Bool
    ) {
        guard files.bodyLimit > 0, let head = ResponseFileHead.bytes(of: response, key: key), let time = ticket.time
        else { return nil }
        self.files = files
        self.ticket = ticket
        self.replace = replace
        digest = ResponseKeyDigest(key)
        variant = ResponseKeyDigest.digest(ofVariant: response)
        slotLength = ResponseHeadSlot.length(forHead: head.count)
        // The first part is known at the end, and the second slot is empty.
        var pending = [UInt8](repeating: 0, count: ResponseFileLayout.length + 2 * slotLength)
        let slot = ResponseHeadSlot.bytes(number: 1, sent: time.wall, head: head, nonce: nonce)
        pending.replaceSubrange(ResponseFileLayout.length..<ResponseFileLayout.length + slot.count, with: slot)
        state = Mutex(State(pending: pending, blockStart: pending.count))
    }

    deinit {
        // No other reference is left, so the lock is free.
        let (descriptor, path, count) = state.withLock { state in
            (state.descriptor, state.path, state.isOver ? 0 : Int(clamping: state.bodyLength))
        }
        files.discard(descriptor, path, releasing: count)
    }

    func write(_ chunk: Data) async -> Bool {
        // Chunks that are written at the same time have no order, so that they are no body.
        guard !isBusy.exchange(true, ordering: .acquiring) else { return false }
        defer { isBusy.store(false, ordering: .releasing) }
        var rest = chunk[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.partLength)
            rest = rest.dropFirst(Self.partLength)
            guard let isFull = take(part) else {
                await files.removals()
                return false
            }
            if isFull { guard await flush() else { return false } }
        }
        return state.withLock { !$0.isOver }
    }

    /// Takes bytes of the body into memory, and returns whether there are enough to write; nil when they do not fit.
    private func take(_ chunk: Data) -> Bool? {
        state.withLock { state in
            guard !state.isOver, Int64(chunk.count) <= Int64(files.bodyLimit) - state.bodyLength,
                files.space.admit(chunk.count)
            else {
                abandon(&state)
                return nil
            }
            var rest = chunk[...]
            while !rest.isEmpty {
                let room = ResponseFileLayout.blockLength - (state.pending.count - state.blockStart)
                let part = rest.prefix(room)
                rest = rest.dropFirst(room)
                state.pending += part
                if part.count == room { endBlock(&state) }
            }
            state.bodyLength += Int64(chunk.count)
            return state.blockStart >= ResponseFileLayout.blockLength
        }
    }

    private func endBlock(_ state: inout State) {
        let block = state.table.bytes.count / 8
        let seed = ResponseFileLayout.seed(ofBlock: block, nonce: nonce)
        let checksum = unsafe state.pending.withUnsafeBytes { bytes in
            unsafe Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[state.blockStart...]), seed: seed)
        }
        state.table.add(checksum)
        state.blockStart = state.pending.count
    }

    /// Writes the bytes in memory to the file.
    private func flush() async -> Bool {
        await change { [self] in
            try state.withLock { try flush(&$0) }
            return true
        }
    }

    /// Performs a change that writes the bytes in memory; where it fails, nothing is kept.
    private func change(_ work: @escaping @Sendable () throws -> Bool) async -> Bool {
        let count = state.withLock { FileStatus.allocatedLength($0.pending.count) }
        if await files.space.reserve(count), await files.change(writing: count, work) == true { return true }
        state.withLock { abandon(&$0) }
        await files.removals()
        return false
    }

    private func flush(_ state: inout State) throws {
        let descriptor = try open(&state)
        // The last block stays, since its checksum needs it whole.
        let count = state.layout == nil ? state.blockStart : state.pending.count
        guard count > 0 else { return }
        unsafe try state.pending.withUnsafeBytes { bytes in
            let whole = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<count])
            unsafe try files.directory.fileSystem.write(whole, to: descriptor, at: state.offset)
        }
        state.offset += Int64(count)
        state.blockStart -= count
        state.pending.removeFirst(count)
    }

    private func open(_ state: inout State) throws -> Int32 {
        if let descriptor = state.descriptor { return descriptor }
        let path = files.directory.newUnfinishedPath(digest, nonce: nonce)
        let descriptor: Int32
        do {
            descriptor = try files.directory.fileSystem.create(path)
        } catch SystemError.noEntry {
            try files.directory.prepare()
            descriptor = try files.directory.fileSystem.create(path)
        }
        state.descriptor = descriptor
        state.path = path
        // A removal that comes later finds the file; one that came before may have been that of a user's responses.
        guard try state.layout != nil || files.changes.isWanted(ticket, digest) else {
            throw SystemError(code: ECANCELED)
        }
        return descriptor
    }

    func finish() async -> Bool {
        guard !isBusy.exchange(true, ordering: .acquiring) else { return false }
        defer { isBusy.store(false, ordering: .releasing) }
        guard seal() else { return false }
        return await change { [self] in
            try state.withLock { state in
                try writeWhole(&state)
                guard let path = state.path else { return false }
                let isPlaced = try files.changes.place(path, digest, variant: variant, ticket, replace: replace)
                if isPlaced { state.path = nil }
                if state.bodyLength > Int64(ResponseFileLayout.blockLength) { files.noteVerified(nonce) }
                abandon(&state)
                return isPlaced
            }
        }
    }

    /// Adds the checksums of the blocks, and the first part, which marks the file as complete.
    private func seal() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            if state.pending.count > state.blockStart { endBlock(&state) }
            let table = state.table.bytes
            let layout = ResponseFileLayout(
                nonce: nonce, slotLength: slotLength, bodyLength: state.bodyLength, variant: variant,
                tableChecksum: unsafe table.withUnsafeBytes { unsafe Checksum.of($0, seed: nonce) })
            state.layout = layout
            state.pending += table
            if state.offset == 0 {
                state.pending.replaceSubrange(..<ResponseFileLayout.length, with: layout.bytes)
                state.startsWithLayout = true
            }
            return true
        }
    }

    /// Writes the rest of the file; the first part comes last, unless all is written at once.
    private func writeWhole(_ state: inout State) throws {
        try flush(&state)
        guard !state.startsWithLayout, let layout = state.layout else { return }
        try files.directory.fileSystem.write(layout.bytes, to: try open(&state), at: 0)
    }

    /// Lets go of the file, and of what is not written.
    private func abandon(_ state: inout State) {
        guard !state.isOver else { return }
        files.discard(state.descriptor, state.path, releasing: Int(clamping: state.bodyLength))
        state.descriptor = nil
        state.path = nil
        state.pending = []
        state.isOver = true
    }
}

extension ResponseFiles {
    /// Closes and removes the file of a response that is not kept, and ends to count its body as incoming.
    fileprivate func discard(_ descriptor: Int32?, _ path: String?, releasing count: Int) {
        guard descriptor != nil || path != nil else { return space.release(count) }
        threads.changing.start { [self] in
            if let descriptor { directory.fileSystem.close(descriptor) }
            if let path { try? directory.fileSystem.remove(path) }
            space.release(count)
        }
    }

    /// Waits until the files are removed that have been discarded so far, since other bodies have room only then.
    fileprivate func removals() async {
        await threads.changing.perform {}
    }
}
