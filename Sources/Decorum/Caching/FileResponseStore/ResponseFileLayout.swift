/// The layout of the file of a stored response: this first part, two slots for the head, the body, the checksums of its
/// blocks.
///
/// Each checksum includes a random number of this file, so that zeros and blocks of other files are detected. Only the
/// slots and the count change once the file is in its place.
struct ResponseFileLayout: Sendable, Equatable {
    /// The number of bytes in a block; each block of the body has a checksum.
    static let blockLength = 64 << 10
    /// The number of bytes of this first part.
    static let length = 64
    /// Where the number of variants is.
    static let variantCountOffset: Int64 = 56
    // "Decorum" with the version of the layout.
    private static let mark: UInt64 = 0x0002_6D75_726F_6365

    let nonce: UInt64
    /// The number of bytes of each of the two slots.
    let slotLength: Int
    let bodyLength: Int64
    /// The digest of the fields that selected the response.
    let variant: UInt64
    let tableChecksum: UInt64
    /// The number of files that the key has, as the first of them says.
    var variantCount = 1

    var blockCount: Int { Int((bodyLength + Int64(Self.blockLength) - 1) / Int64(Self.blockLength)) }
    var bodyOffset: Int64 { Int64(Self.length + 2 * slotLength) }
    var tableOffset: Int64 { bodyOffset + bodyLength }
    var tableLength: Int { blockCount * 8 }
    var fileLength: Int64 { tableOffset + Int64(tableLength) }

    func offset(ofSlot slot: Int) -> Int64 {
        Int64(Self.length + slot * slotLength)
    }

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
        writer.add(UInt64(slotLength))
        writer.add(bodyLength)
        writer.add(variant)
        writer.add(tableChecksum)
        let checked = writer.bytes
        unsafe checked.withUnsafeBytes { unsafe writer.add(Checksum.of($0, seed: 0)) }
        return writer.bytes + Self.bytes(ofVariantCount: variantCount)
    }

    /// The number of variants as it is written, with its inverse in place of a checksum.
    static func bytes(ofVariantCount count: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.add(UInt32(clamping: count))
        writer.add(~UInt32(clamping: count))
        return writer.bytes
    }

    init(nonce: UInt64, slotLength: Int, bodyLength: Int64, variant: UInt64, tableChecksum: UInt64) {
        self.nonce = nonce
        self.slotLength = slotLength
        self.bodyLength = bodyLength
        self.variant = variant
        self.tableChecksum = tableChecksum
    }

    /// Reads the first part of a file of a given length; nil where it is damaged.
    init?(_ bytes: UnsafeRawBufferPointer, fileLength: Int64) {
        guard bytes.count >= Self.length else { return nil }
        var reader = unsafe ByteReader(UnsafeRawBufferPointer(rebasing: bytes[..<Self.length]))
        let checked = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<(Self.length - 16)])
        guard reader.number(UInt64.self) == Self.mark, let nonce = reader.number(UInt64.self),
            let slotLength = reader.number(UInt64.self), slotLength <= UInt64(ResponseHeadSlot.lengthLimit),
            let bodyLength = reader.number(Int64.self), 0...fileLength ~= bodyLength,
            let variant = reader.number(UInt64.self), let tableChecksum = reader.number(UInt64.self),
            let checksum = reader.number(UInt64.self), unsafe checksum == Checksum.of(checked, seed: 0),
            let count = reader.number(UInt32.self), reader.number(UInt32.self) == ~count,
            1...MemoryResponseStore.variantLimit ~= Int(clamping: count)
        else { return nil }
        self.init(
            nonce: nonce, slotLength: Int(slotLength), bodyLength: bodyLength, variant: variant,
            tableChecksum: tableChecksum)
        variantCount = Int(count)
        guard self.fileLength == fileLength else { return nil }
    }
}
