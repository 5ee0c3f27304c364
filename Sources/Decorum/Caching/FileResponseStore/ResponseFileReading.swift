import Foundation

/// The result of reading the file of a stored response.
enum ResponseFileReading {
    /// The response with its body in memory.
    case small(ResponseFileHead, Data)
    /// The head of the response, with the file that its body is in, of which nothing is verified yet.
    case large(ResponseFileHead, OpenResponseFile)
    /// The file does not exist, cannot be read, or belongs to another key.
    case missing
    /// The file is damaged.
    case damaged

    /// The largest file, in bytes, that is read at once; for larger files, reading in parts costs less.
    private static let smallLimit: Int64 = 96 << 10

    /// Reads a file; how long since its last use is noted in its time, once in a while.
    init(_ path: String, key: ResponseKey, heads: ReadHeads, fileSystem: some FileSystem) {
        self = .missing
        guard let descriptor = try? fileSystem.open(path) else { return }
        // When the open file is returned, it closes the descriptor itself.
        var isHandedOn = false
        defer { if !isHandedOn { fileSystem.close(descriptor) } }
        guard let status = try? fileSystem.status(of: descriptor), status.kind == .regular else { return }

        if status.length <= Self.smallLimit {
            self = Self.small(descriptor, Int(status.length), key, heads, fileSystem)
        } else {
            self = Self.large(descriptor, status.length, key, heads, fileSystem)
            if case .large = self { isHandedOn = true }
        }
        let minute: Int64 = 60_000_000_000
        if (fileSystem.now &- status.time).magnitude > minute { fileSystem.touch(descriptor) }
    }

    private static func small(
        _ descriptor: Int32, _ length: Int, _ key: ResponseKey, _ heads: ReadHeads, _ fileSystem: some FileSystem
    ) -> Self {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
        defer { unsafe buffer.deallocate() }
        guard let count = unsafe try? fileSystem.read(descriptor, into: buffer, at: 0) else { return .missing }
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count])
        guard let layout = unsafe ResponseFileLayout(bytes, fileLength: Int64(length)), count == length else {
            return .damaged
        }
        let headBytes = unsafe bytes.part(Int64(ResponseFileLayout.length), layout.headLength)
        let body = unsafe bytes.part(layout.bodyOffset, Int(layout.bodyLength))
        let tableBytes = unsafe bytes.part(layout.tableOffset, layout.tableLength)
        guard unsafe Checksum.of(headBytes, seed: layout.nonce) == layout.headChecksum,
            let table = unsafe layout.table(tableBytes),
            unsafe layout.isWhole(body, blocks: 0..<layout.blockCount, table: table)
        else { return .damaged }
        guard let head = unsafe layout.head(headBytes, key, heads) else { return .missing }
        return unsafe .small(head, Data(body))
    }

    private static func large(
        _ descriptor: Int32, _ length: Int64, _ key: ResponseKey, _ heads: ReadHeads, _ fileSystem: some FileSystem
    ) -> Self {
        let first = unsafe read(ResponseFileLayout.length, at: 0, descriptor, fileSystem) { bytes in
            unsafe ResponseFileLayout(bytes, fileLength: length)
        }
        guard let first else { return .missing }
        guard let layout = first else { return .damaged }
        let headOffset = Int64(ResponseFileLayout.length)
        let head = unsafe read(layout.headLength, at: headOffset, descriptor, fileSystem) { bytes in
            let isWhole = unsafe Checksum.of(bytes, seed: layout.nonce) == layout.headChecksum
            return unsafe (isWhole, isWhole ? layout.head(bytes, key, heads) : nil)
        }
        let table = unsafe read(layout.tableLength, at: layout.tableOffset, descriptor, fileSystem) { bytes in
            unsafe layout.table(bytes)
        }
        guard let (isWhole, head) = head, let table else { return .missing }
        guard isWhole, let table else { return .damaged }
        guard let head else { return .missing }
        return .large(head, OpenResponseFile(descriptor, layout: layout, table: table, fileSystem: fileSystem))
    }

    private static func read<Result>(
        _ count: Int, at offset: Int64, _ descriptor: Int32, _ fileSystem: some FileSystem,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { unsafe buffer.deallocate() }
        guard let done = unsafe try? fileSystem.read(descriptor, into: buffer, at: offset) else { return nil }
        return unsafe body(UnsafeRawBufferPointer(rebasing: buffer[..<done]))
    }
}

extension ResponseFileLayout {
    /// Parses the verified bytes of a head; nil when they belong to another key.
    fileprivate func head(
        _ bytes: UnsafeRawBufferPointer, _ key: ResponseKey, _ heads: ReadHeads
    ) -> ResponseFileHead? {
        if let head = heads.head(self, key: key) { return head }
        guard let head = unsafe ResponseFileHead(bytes, key: key) else { return nil }
        heads.note(head, self, key: key)
        return head
    }

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
