/// One of the two places for the head in the file of a stored response.
///
/// A response that was confirmed is written over the older head, so that a torn write leaves the newer one. The valid
/// slot with the higher number counts.
struct ResponseHeadSlot: Sendable, Equatable {
    /// The bytes before the head: the number, the time, the length and the checksum.
    static let prefixLength = 32
    /// The largest slot, in bytes.
    static let lengthLimit = 2 * ResponseFileHead.lengthLimit

    /// The position among all heads that were written to the file; the first has 1.
    let number: UInt64
    /// When the ticket of the answered request was given, in nanoseconds of the time of day.
    let sent: Int64
    let headLength: Int
    let checksum: UInt64

    /// The number of bytes that a slot needs for a head, with room for fields that become longer.
    static func length(forHead count: Int) -> Int {
        (prefixLength + count + max(64, count / 4) + 63) & ~63
    }

    /// The bytes of a slot with a head.
    static func bytes(number: UInt64, sent: Int64, head: [UInt8], nonce: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.add(number)
        writer.add(sent)
        writer.add(UInt64(head.count))
        unsafe head.withUnsafeBytes { head in
            unsafe writer.add(checksum(number: number, sent: sent, head: head, nonce: nonce))
        }
        return writer.bytes + head
    }

    private static func checksum(number: UInt64, sent: Int64, head: UnsafeRawBufferPointer, nonce: UInt64) -> UInt64 {
        var checksum = Checksum(seed: nonce)
        checksum.add(number)
        checksum.add(UInt64(bitPattern: sent))
        unsafe checksum.add(head)
        return checksum.value
    }

    /// Finds the newest head in the bytes of both slots that is whole; nil when both are damaged.
    static func newest(
        in slots: UnsafeRawBufferPointer, nonce: UInt64
    ) -> (index: Int, slot: ResponseHeadSlot, head: UnsafeRawBufferPointer)? {
        let length = slots.count / 2
        let parts = unsafe (
            UnsafeRawBufferPointer(rebasing: slots[..<length]),
            UnsafeRawBufferPointer(rebasing: slots[length..<2 * length])
        )
        let (first, second) = unsafe (ResponseHeadSlot(parts.0), ResponseHeadSlot(parts.1))
        let isSecondNewer = (second?.number ?? 0) > (first?.number ?? 0)
        for isSecond in [isSecondNewer, !isSecondNewer] {
            let part = unsafe isSecond ? parts.1 : parts.0
            guard let slot = isSecond ? second : first else { continue }
            let head = unsafe UnsafeRawBufferPointer(rebasing: part[prefixLength..<prefixLength + slot.headLength])
            let checksum = unsafe checksum(number: slot.number, sent: slot.sent, head: head, nonce: nonce)
            if checksum == slot.checksum { return unsafe (isSecond ? 1 : 0, slot, head) }
        }
        return nil
    }

    /// Reads the part before a head; nil for a slot that was never written, or whose length is impossible.
    private init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = unsafe ByteReader(bytes)
        guard let number = reader.number(UInt64.self), number > 0, let sent = reader.number(Int64.self),
            let length = reader.number(UInt64.self), length <= UInt64(max(bytes.count - Self.prefixLength, 0)),
            let checksum = reader.number(UInt64.self)
        else { return nil }
        self.number = number
        self.sent = sent
        headLength = Int(length)
        self.checksum = checksum
    }
}
