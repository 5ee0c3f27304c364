import Foundation
import Synchronization

/// Writes the file of a stored response in a separate folder, and moves it into its place once it is complete.
final class ResponseFileWriter: ResponseWriter {
    private struct State {
        let nonce = SystemGenerator().next()
        /// The bytes that are not in the file yet.
        var pending: [UInt8]
        /// Where the block begins, in `pending`, that the next bytes of the body belong to.
        var blockStart: Int
        var offset: Int64 = 0
        var bodyLength: Int64 = 0
        var table = ByteWriter()
        var descriptor: Int32?
        var path: String?
        var isOver = false
    }

    private let files: ResponseFiles
    private let key: ResponseKey
    private let name: ResponseFileName
    /// The response without its body.
    private let response: StoredResponse
    private let head: [UInt8]
    private let ticket: StoreTicket
    private let state: Mutex<State>

    init?(_ response: StoredResponse, key: ResponseKey, ticket: StoreTicket, files: ResponseFiles) {
        guard let head = ResponseFileHead.bytes(of: response, key: key, time: files.folders.fileSystem.now) else {
            return nil
        }
        self.files = files
        self.head = head
        self.key = key
        self.response = response.withoutBody
        name = ResponseFileName(response, key: key)
        self.ticket = ticket
        // Room for the first part, which is known at the end.
        var pending = [UInt8](repeating: 0, count: ResponseFileLayout.length)
        pending += head
        state = Mutex(State(pending: pending, blockStart: pending.count))
    }

    deinit {
        state.withLock { abandon(&$0) }
    }

    func write(_ chunk: Data) async -> Bool {
        let isShort = state.withLock { $0.pending.count - $0.blockStart + chunk.count < ResponseFileLayout.blockLength }
        // Bytes that stay in memory need no other thread.
        return isShort ? append(chunk) : await appendConcurrently(chunk)
    }

    // The caller may be the main actor, which must not wait for a disk.
    @concurrent private func appendConcurrently(_ chunk: Data) async -> Bool {
        append(chunk)
    }

    @concurrent func finish() async {
        complete()
    }

    /// Takes the next bytes of the body; returns false when the rest is not wanted.
    func append(_ chunk: Data) -> Bool {
        state.withLock { state in
            guard !state.isOver, Int64(chunk.count) <= Int64(files.bodyLimit) - state.bodyLength else {
                abandon(&state)
                return false
            }
            do {
                try add(chunk, &state)
            } catch {
                abandon(&state)
                return false
            }
            return true
        }
    }

    private func add(_ chunk: Data, _ state: inout State) throws {
        var rest = chunk[...]
        while !rest.isEmpty {
            let room = ResponseFileLayout.blockLength - (state.pending.count - state.blockStart)
            let part = rest.prefix(room)
            rest = rest.dropFirst(room)
            state.pending += part
            state.bodyLength += Int64(part.count)
            if part.count == room {
                endBlock(&state)
                try flush(&state)
            }
        }
    }

    private func endBlock(_ state: inout State) {
        let block = state.table.bytes.count / 8
        let seed = ResponseFileLayout.seed(ofBlock: block, nonce: state.nonce)
        let checksum = unsafe state.pending.withUnsafeBytes { bytes in
            unsafe Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[state.blockStart...]), seed: seed)
        }
        state.table.add(checksum)
        state.blockStart = state.pending.count
    }

    private func flush(_ state: inout State) throws {
        guard files.space.reserve(FileStatus.allocatedLength(state.pending.count)) else {
            throw SystemError(code: ENOSPC)
        }
        let descriptor = try open(&state)
        try files.write(state.pending, to: descriptor, at: state.offset)
        state.offset += Int64(state.pending.count)
        state.pending.removeAll(keepingCapacity: true)
        state.blockStart = 0
    }

    private func open(_ state: inout State) throws -> Int32 {
        if let descriptor = state.descriptor { return descriptor }
        let path = files.folders.newUnfinishedPath(name, nonce: state.nonce)
        let descriptor: Int32
        do {
            descriptor = try files.folders.fileSystem.create(path)
        } catch SystemError.noEntry {
            try files.folders.prepare()
            descriptor = try files.folders.fileSystem.create(path)
        }
        state.descriptor = descriptor
        state.path = path
        return descriptor
    }

    /// Keeps the response: its body is whole.
    func complete() {
        state.withLock { state in
            guard !state.isOver, let path = try? finishFile(&state) else { return abandon(&state) }
            guard files.tickets.isCurrent(ticket) else { return abandon(&state) }
            do {
                try files.folders.moveIntoPlace(path, name)
            } catch {
                return abandon(&state)
            }
            state.path = nil
            state.isOver = true
            if state.bodyLength > Int64(ResponseFileLayout.blockLength) {
                files.folders.noteVerified(name, nonce: state.nonce)
            }
            files.secrets.removeResponses(ofSameVariantAs: response, for: key)
            // All responses without `Vary` are one variant, for which no folder needs to be listed.
            if response.vary.isAny || !response.vary.names.isEmpty { files.removeExcess(of: key, besides: name) }
            // A removal during the move may have missed the file, because the file was not in its place yet.
            if !files.tickets.isCurrent(ticket) {
                files.remove(name)
            }
        }
    }

    /// Writes the remaining bytes, and then the first part, which marks the file as complete.
    private func finishFile(_ state: inout State) throws -> String? {
        if state.pending.count > state.blockStart { endBlock(&state) }
        let table = state.table.bytes
        state.pending += table
        let layout = ResponseFileLayout(
            nonce: state.nonce, headLength: head.count, bodyLength: state.bodyLength,
            headChecksum: unsafe head.withUnsafeBytes { unsafe Checksum.of($0, seed: state.nonce) },
            tableChecksum: unsafe table.withUnsafeBytes { unsafe Checksum.of($0, seed: state.nonce) })
        let isAllPending = state.offset == 0
        if isAllPending { state.pending.replaceSubrange(..<ResponseFileLayout.length, with: layout.bytes) }
        try flush(&state)
        let descriptor = try open(&state)
        if !isAllPending { try files.write(layout.bytes, to: descriptor, at: 0) }
        files.folders.fileSystem.close(descriptor)
        state.descriptor = nil
        return state.path
    }

    private func abandon(_ state: inout State) {
        if let descriptor = state.descriptor { files.folders.fileSystem.close(descriptor) }
        if let path = state.path { try? files.folders.fileSystem.remove(path) }
        state.descriptor = nil
        state.path = nil
        state.pending = []
        state.isOver = true
    }
}

extension StoredResponse {
    fileprivate var withoutBody: StoredResponse {
        var response = self
        response.body = .empty
        return response
    }
}

extension ResponseFiles {
    fileprivate func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int64) throws {
        unsafe try bytes.withUnsafeBytes { bytes in
            unsafe try folders.fileSystem.write(bytes, to: descriptor, at: offset)
        }
    }
}
