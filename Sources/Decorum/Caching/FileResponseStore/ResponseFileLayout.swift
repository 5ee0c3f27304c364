/// The layout of the file of a stored response: this first part, the head, the body, the checksums of its blocks.
///
/// Each byte of the file is covered by a checksum that includes a random number of this file, so that zeros and blocks
/// of other files are detected.
struct ResponseFileLayout: Sendable, Equatable {
    /// The number of bytes in a block; each block of the body has a checksum.
    static let blockLength = 64 << 10
    /// The number of bytes of this first part.
    static let length = 56
    // "Decorum" with the version of the layout.
    private static let mark: UInt64 = 0x0001_6D75_726F_6365

    let nonce: UInt64
    let headLength: Int
    let bodyLength: Int64
    let headChecksum: UInt64
    let tableChecksum: UInt64

    var blockCount: Int { Int((bodyLength + Int64(Self.blockLength) - 1) / Int64(Self.blockLength)) }
    var bodyOffset: Int64 { Int64(Self.length + headLength) }
    var tableOffset: Int64 { bodyOffset + bodyLength }
    var tableLength: Int { blockCount * 8 }
    var fileLength: Int64 { tableOffset + Int64(tableLength) }

    /// The bytes of the body in a block.
    func range(ofBlock block: Int) -> Range<Int64> {
        let start = Int64(block) * Int64(Self.blockLength)
        return start..<min(start + Int64(Self.blockLength), bodyLength)
    }

    /// The start value of the checksum of a block, so that a block cannot be taken for another.
    static func seed(ofBlock block: Int, nonce: UInt64) -> UInt64 {
        nonce &+ UInt64(truncatingIfNeeded: block &+ 1)
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.add(Self.mark)
        writer.add(nonce)
        writer.add(UInt64(headLength))
        writer.add(bodyLength)
        writer.add(headChecksum)
        writer.add(tableChecksum)
        var bytes = writer.bytes
        unsafe bytes.withUnsafeBytes { unsafe writer.add(Checksum.of($0, seed: 0)) }
        bytes = writer.bytes
        return bytes
    }

    init(nonce: UInt64, headLength: Int, bodyLength: Int64, headChecksum: UInt64, tableChecksum: UInt64) {
        self.nonce = nonce
        self.headLength = headLength
        self.bodyLength = bodyLength
        self.headChecksum = headChecksum
        self.tableChecksum = tableChecksum
    }

    /// Reads the first part of a file of a given length; nil where it is damaged.
    init?(_ bytes: UnsafeRawBufferPointer, fileLength: Int64) {
        guard bytes.count >= Self.length else { return nil }
        var reader = unsafe ByteReader(UnsafeRawBufferPointer(rebasing: bytes[..<Self.length]))
        let checked = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<(Self.length - 8)])
        guard reader.number(UInt64.self) == Self.mark, let nonce = reader.number(UInt64.self),
            let headLength = reader.number(UInt64.self), headLength <= UInt64(ResponseFileHead.lengthLimit),
            let bodyLength = reader.number(Int64.self), 0...fileLength ~= bodyLength,
            let headChecksum = reader.number(UInt64.self), let tableChecksum = reader.number(UInt64.self),
            let checksum = reader.number(UInt64.self), unsafe checksum == Checksum.of(checked, seed: 0)
        else { return nil }
        self.init(
            nonce: nonce, headLength: Int(headLength), bodyLength: bodyLength, headChecksum: headChecksum,
            tableChecksum: tableChecksum)
        guard self.fileLength == fileLength else { return nil }
    }
}
