import Foundation

/// The result of reading the file of a stored response.
enum ResponseFileReading {
    /// The response with its body in memory.
    case small(ResponseFileHead, ResponseFileState, Data)
    /// The head of the response, with the file that its body is in, of which nothing is verified yet.
    case large(ResponseFileHead, ResponseFileState, OpenResponseFile)
    /// The file belongs to another key, whose digests are the same; or too many large files are open.
    case unusable(ResponseFileState)
    /// The file does not exist or cannot be read.
    case missing
    /// The file is damaged, or is being changed while it is read.
    case damaged

    struct Parameters {
        let key: ResponseKey
        let heads: ReadHeads
        let openFiles: OpenFiles
        /// Whether calls may wait for the disk; otherwise they throw ``SystemError/mustWait``.
        let mayWait: Bool
    }
}

/// How the file of a stored response is read.
struct ResponseFileReader<Files: FileSystem> {
    let parameters: ResponseFileReading.Parameters
    let fileSystem: Files
    private var mayWait: Bool { parameters.mayWait }

    /// The largest file, in bytes, that is read at once; for larger files, reading in parts costs less.
    private static var smallLimit: Int64 { 96 << 10 }

    /// Reads a file, and returns it with the time of its last use.
    func read(_ path: String) throws -> (reading: ResponseFileReading, time: Int64) {
        let descriptor: Int32
        do {
            descriptor = try fileSystem.open(path, mayWait: mayWait)
        } catch {
            return try missing(error)
        }
        // When the open file is returned, it closes the descriptor itself.
        var isHandedOn = false
        defer { if !isHandedOn { fileSystem.close(descriptor) } }
        do {
            let status = try fileSystem.status(of: descriptor)
            guard status.kind == .regular, status.owner == fileSystem.user else { return (.missing, 0) }
            let reading =
                status.length <= Self.smallLimit
                ? try small(descriptor, Int(status.length)) : try large(descriptor, status.length)
            if case .large = reading { isHandedOn = true }
            return (reading, status.time)
        } catch {
            return try missing(error)
        }
    }

    /// A failed call makes a file count as missing, except one that would have to wait.
    private func missing(_ error: any Error) throws -> (ResponseFileReading, Int64) {
        if case SystemError.mustWait = error, !mayWait { throw error }
        return (.missing, 0)
    }

    private func small(_ descriptor: Int32, _ length: Int) throws -> ResponseFileReading {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
        defer { unsafe buffer.deallocate() }
        let count = unsafe try fileSystem.read(descriptor, into: buffer, at: 0, mayWait: mayWait)
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count])
        guard let layout = unsafe ResponseFileLayout(bytes, fileLength: Int64(length)), count == length else {
            return .damaged
        }
        let slots = unsafe bytes.part(Int64(ResponseFileLayout.length), 2 * layout.slotLength)
        let body = unsafe bytes.part(layout.bodyOffset, Int(layout.bodyLength))
        guard let (index, slot, headBytes) = unsafe ResponseHeadSlot.newest(in: slots, nonce: layout.nonce),
            let table = unsafe layout.table(bytes.part(layout.tableOffset, layout.tableLength)),
            unsafe layout.isWhole(body, blocks: 0..<layout.blockCount, table: table)
        else { return .damaged }
        let state = ResponseFileState(layout: layout, slotIndex: index, slot: slot)
        guard let head = unsafe head(headBytes, slot, layout.nonce) else { return .unusable(state) }
        return unsafe .small(head, state, Data(body))
    }

    private func large(_ descriptor: Int32, _ length: Int64) throws -> ResponseFileReading {
        let found = unsafe try ResponseFileState.read(descriptor, length, fileSystem, mayWait: mayWait) {
            state, bytes in unsafe (state, head(bytes, state.slot, state.layout.nonce))
        }
        guard let (state, head) = found else { return .damaged }
        let layout = state.layout
        let table = unsafe try withBytes(layout.tableLength, at: layout.tableOffset, descriptor) { bytes in
            unsafe layout.table(bytes)
        }
        guard let table else { return .damaged }
        guard let head, let file = parameters.openFiles.hold(descriptor, layout: layout, table: table) else {
            return .unusable(state)
        }
        return .large(head, state, file)
    }

    private func withBytes<Result>(
        _ count: Int, at offset: Int64, _ descriptor: Int32, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws -> Result {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { unsafe buffer.deallocate() }
        let done = unsafe try fileSystem.read(descriptor, into: buffer, at: offset, mayWait: mayWait)
        return unsafe body(UnsafeRawBufferPointer(rebasing: buffer[..<done]))
    }

    /// Parses the verified bytes of a head; nil when they belong to another key.
    private func head(_ bytes: UnsafeRawBufferPointer, _ slot: ResponseHeadSlot, _ nonce: UInt64) -> ResponseFileHead? {
        if let head = parameters.heads.head(slot, nonce: nonce, key: parameters.key) { return head }
        guard let head = unsafe ResponseFileHead(bytes, key: parameters.key) else { return nil }
        parameters.heads.note(head, slot, nonce: nonce, key: parameters.key)
        return head
    }
}

extension ResponseFileLayout {
    /// Reads the checksums of the blocks; nil where they are damaged.
    fileprivate func table(_ bytes: UnsafeRawBufferPointer) -> [UInt64]? {
        guard bytes.count == tableLength, unsafe Checksum.of(bytes, seed: nonce) == tableChecksum else { return nil }
        var reader = unsafe ByteReader(bytes)
        return (0..<blockCount).compactMap { _ in reader.number(UInt64.self) }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func part(_ offset: Int64, _ count: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: self[Int(offset)..<Int(offset) + count])
    }
}
