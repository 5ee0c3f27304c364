import Foundation
import HTTPTypes

/// The file of a stored response: this first part, the head, the body, and the checksums of the blocks of the body.
///
/// Each checksum includes a random number of this file, so that zeros and blocks of other files are detected. Only the
/// head and the number of variants change once the file is in its place.
package struct ResponseFile: Sendable {
    /// The number of bytes in a block; each block of the body has a checksum.
    static let blockLength = 64 << 10
    /// The number of bytes of the first part.
    static let firstLength = 64
    /// The number of bytes before a head: the time, the length and the checksum.
    static let headPrefixLength = 24
    /// The largest head, in bytes, that is written.
    private static let headLimit = 1 << 20
    // "Decorum" with the version of the format.
    private static let mark: UInt64 = 0x0003_6D75_726F_6365

    let nonce: UInt64
    /// The number of bytes from the first part to the body, with room for fields that become longer.
    let headCapacity: Int
    let bodyLength: Int64
    /// The digest of the fields that selected the response.
    let variant: UInt64
    let tableChecksum: UInt64
    /// The number of files that the key has, as the first of them says.
    private(set) var variantCount = 1
    /// When the ticket of the answered request was given, in nanoseconds of the time of day.
    private(set) var sent = Int64.min
    private(set) var headChecksum: UInt64 = 0

    var blockCount: Int { Int((bodyLength + Int64(Self.blockLength) - 1) / Int64(Self.blockLength)) }
    var bodyOffset: Int64 { Int64(Self.firstLength + headCapacity) }
    private var tableOffset: Int64 { bodyOffset + bodyLength }
    private var tableLength: Int { blockCount * 8 }

    /// The capacity of a new file with a head.
    static func capacity(forHead count: Int) -> Int {
        (headPrefixLength + count + max(64, count / 4) + 63) & ~63
    }

    init(nonce: UInt64, headCapacity: Int, bodyLength: Int64, variant: UInt64, table: [UInt8]) {
        (self.nonce, self.headCapacity, self.bodyLength, self.variant) = (nonce, headCapacity, bodyLength, variant)
        tableChecksum = Checksum.of(table[...], seed: nonce)
    }

    /// The bytes of the first part.
    var first: [UInt8] {
        var writer = ByteWriter()
        for number in [Self.mark, nonce, UInt64(headCapacity), UInt64(bodyLength), variant, tableChecksum] {
            writer.add(number)
        }
        writer.add(Checksum.of(writer.bytes[...], seed: 0))
        return writer.bytes + Self.bytes(ofVariantCount: variantCount)
    }

    /// The number of variants as it is written, with its inverse in place of a checksum.
    private static func bytes(ofVariantCount count: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.add(UInt32(clamping: count))
        writer.add(~UInt32(clamping: count))
        return writer.bytes
    }

    /// The bytes of a head, with its time, length and checksum in front.
    static func bytes(ofHead head: [UInt8], sent: Int64, nonce: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.add(sent)
        writer.add(UInt64(head.count))
        writer.add(checksum(ofHead: head[...], sent: sent, nonce: nonce))
        return writer.bytes + head
    }

    private static func checksum(ofHead head: ArraySlice<UInt8>, sent: Int64, nonce: UInt64) -> UInt64 {
        var checksum = Checksum(seed: ~nonce)
        checksum.add(UInt64(bitPattern: sent))
        checksum.add(head)
        return checksum.value
    }

    /// The checksum of a block, which another block does not have.
    static func checksum(ofBlock block: Int, _ bytes: ArraySlice<UInt8>, nonce: UInt64) -> UInt64 {
        Checksum.of(bytes, seed: nonce &+ UInt64(truncatingIfNeeded: block &+ 1))
    }

    /// Reads the first part of a file of a given length; nil if it is damaged.
    private init?(_ bytes: ArraySlice<UInt8>, fileLength: Int64) {
        let checked = bytes.prefix(Self.firstLength - 16)
        var reader = ByteReader(bytes)
        guard reader.number() == Self.mark, let nonce: UInt64 = reader.number(),
            let capacity: UInt64 = reader.number(), capacity <= UInt64(2 * Self.headLimit),
            let bodyLength: Int64 = reader.number(), 0...fileLength ~= bodyLength,
            let variant: UInt64 = reader.number(), let tableChecksum: UInt64 = reader.number(),
            reader.number() == Checksum.of(checked, seed: 0),
            let count: UInt32 = reader.number(), reader.number() == ~count,
            1...MemoryResponseStore.variantLimit ~= Int(count)
        else { return nil }
        (self.nonce, headCapacity, self.bodyLength) = (nonce, Int(capacity), bodyLength)
        (self.variant, self.tableChecksum, variantCount) = (variant, tableChecksum, Int(count))
        guard tableOffset + Int64(tableLength) == fileLength else { return nil }
    }

    /// Reads the head of the file; nil if it is damaged.
    private mutating func takeHead(in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var reader = ByteReader(bytes)
        guard let sent: Int64 = reader.number(), let length: UInt64 = reader.number(),
            let checksum: UInt64 = reader.number(), let head = reader.bytes(Int(clamping: length)),
            checksum == Self.checksum(ofHead: head, sent: sent, nonce: nonce)
        else { return nil }
        (self.sent, headChecksum) = (sent, checksum)
        return head
    }

    /// What was read of a file.
    struct Reading {
        let file: ResponseFile
        let head: ArraySlice<UInt8>
        /// The first bytes of the file, or all.
        fileprivate let bytes: [UInt8]
    }

    /// Reads the first part and the head of an open file, or all of a small file; nil if they are damaged.
    static func read(
        _ descriptor: Int32, _ length: Int64, _ fileSystem: any FileSystem, smallLimit: Int64 = 4096, mayWait: Bool
    ) throws -> Reading? {
        let count = Int(length <= smallLimit ? length : 4096)
        var bytes = try fileSystem.read(count, from: descriptor, at: 0, mayWait: mayWait)
        guard bytes.count == count, var file = ResponseFile(bytes[...], fileLength: length) else { return nil }
        let bodyOffset = Int(file.bodyOffset)
        if bodyOffset > count {
            bytes = try fileSystem.read(bodyOffset, from: descriptor, at: 0, mayWait: mayWait)
            guard bytes.count == bodyOffset else { return nil }
        }
        guard let head = file.takeHead(in: bytes[firstLength..<bodyOffset]) else { return nil }
        return Reading(file: file, head: head, bytes: bytes)
    }

    /// Reads the checksums of the blocks; nil if they are damaged.
    func table(_ descriptor: Int32, _ fileSystem: any FileSystem, mayWait: Bool) throws -> [UInt64]? {
        table(try fileSystem.read(tableLength, from: descriptor, at: tableOffset, mayWait: mayWait)[...])
    }

    private func table(_ bytes: ArraySlice<UInt8>) -> [UInt64]? {
        guard bytes.count == tableLength, Checksum.of(bytes, seed: nonce) == tableChecksum else { return nil }
        var reader = ByteReader(bytes)
        return (0..<blockCount).compactMap { _ in reader.number() }
    }

    /// The verified body of a file that was read whole; nil if it is damaged.
    static func body(of reading: Reading) -> Data? {
        let (file, bytes) = (reading.file, reading.bytes)
        let body = bytes[Int(file.bodyOffset)..<Int(file.tableOffset)]
        guard let table = file.table(bytes[Int(file.tableOffset)...]),
            file.isWhole(body, blocks: 0..<file.blockCount, table: table)
        else { return nil }
        return Data(body)
    }

    /// Reads blocks of the body and verifies them; throws a ``StoredBodyError`` if they are damaged.
    func read(
        _ blocks: Range<Int>, _ table: [UInt64], from descriptor: Int32, _ fileSystem: any FileSystem, mayWait: Bool
    ) throws -> [UInt8] {
        let start = Int64(blocks.lowerBound * Self.blockLength)
        let count = Int(min(Int64(blocks.count * Self.blockLength), bodyLength - start))
        let bytes: [UInt8]
        do {
            bytes = try fileSystem.read(count, from: descriptor, at: bodyOffset + start, mayWait: mayWait)
        } catch SystemError.mustWait where !mayWait {
            throw SystemError.mustWait
        } catch {
            throw StoredBodyError()
        }
        guard bytes.count == count, isWhole(bytes[...], blocks: blocks, table: table) else {
            throw mayWait ? StoredBodyError() : SystemError.mustWait
        }
        return bytes
    }

    private func isWhole(_ bytes: ArraySlice<UInt8>, blocks: Range<Int>, table: [UInt64]) -> Bool {
        var rest = bytes
        return blocks.allSatisfy { block in
            defer { rest = rest.dropFirst(Self.blockLength) }
            return Self.checksum(ofBlock: block, rest.prefix(Self.blockLength), nonce: nonce) == table[block]
        }
    }

    /// Writes the number of files of a key into the first of them.
    static func setVariantCount(_ count: Int, of path: String, _ fileSystem: any FileSystem) throws {
        try write(bytes(ofVariantCount: count), to: path, at: 56, fileSystem)
    }

    /// Writes a head, with its time, in place of the one that a file has.
    static func setHead(_ bytes: [UInt8], of path: String, _ fileSystem: any FileSystem) throws {
        try write(bytes, to: path, at: Int64(firstLength), fileSystem)
    }

    private static func write(
        _ bytes: [UInt8], to path: String, at offset: Int64, _ fileSystem: any FileSystem
    ) throws {
        let descriptor = try fileSystem.openForWriting(path)
        defer { fileSystem.close(descriptor) }
        try fileSystem.write(bytes[...], to: descriptor, at: offset)
    }

    /// The bytes of a head, with the key in full, since two keys may have one digest; nil for too many bytes.
    package static func head(of response: StoredResponse, key: ResponseKey) -> [UInt8]? {
        let countLimit = Int(UInt16.max)
        guard response.head.headerFields.count <= countLimit, response.decodedContentCodings.count <= countLimit else {
            return nil
        }
        var writer = ByteWriter()
        writer.add(key)
        writer.add(response.requestDate.timeIntervalSinceReferenceDate.bitPattern)
        writer.add(response.date.timeIntervalSinceReferenceDate.bitPattern)
        writer.add(UInt16(clamping: response.head.status.code))
        writer.add(response.head.status.reasonPhrase)
        writer.add(response.head.headerFields)
        writer.add(response.selectingFields)
        writer.add(UInt16(clamping: response.decodedContentCodings.count))
        for coding in response.decodedContentCodings { writer.add(coding) }
        return writer.bytes.count <= headLimit ? writer.bytes : nil
    }

    /// Parses the key in a head; nil for a damaged one.
    static func key(in head: ArraySlice<UInt8>) -> ResponseKey? {
        var reader = ByteReader(head)
        guard let method = reader.text().flatMap({ HTTPRequest.Method($0) }), let scheme = reader.text(),
            let authority = reader.text(), let path = reader.text(), let hasPrincipal: UInt8 = reader.number(),
            let principal = reader.text(), let credentials = reader.fields()
        else { return nil }
        return ResponseKey(
            method: method, uri: .init(scheme: scheme, authority: authority, path: path),
            principal: hasPrincipal == 1 ? Principal(principal) : nil, credentials: Array(credentials))
    }

    /// Parses a head, and returns the response without its body; nil if it is one for another key.
    package static func response(_ head: ArraySlice<UInt8>, key: ResponseKey) -> StoredResponse? {
        var writer = ByteWriter()
        writer.add(key)
        guard head.starts(with: writer.bytes) else { return nil }
        var reader = ByteReader(head.dropFirst(writer.bytes.count))
        guard let requestDate = reader.date(), let date = reader.date(), let code: UInt16 = reader.number(),
            code <= 999, let reasonPhrase = reader.text(),
            let fields = reader.fields(), let selectingFields = reader.fields(),
            let codingCount: UInt16 = reader.number()
        else { return nil }
        var codings: [String] = []
        for _ in 0..<codingCount {
            guard let coding = reader.text() else { return nil }
            codings.append(coding)
        }
        guard reader.isAtEnd else { return nil }
        return StoredResponse(
            head: HTTPResponse(status: .init(code: Int(code), reasonPhrase: reasonPhrase), headerFields: fields),
            body: .empty, selectingFields: selectingFields, requestDate: requestDate, date: date,
            decodedContentCodings: codings)
    }
}

/// A stored body was damaged on the disk while it was being read.
///
/// The bytes that were returned before are correct, and the file is verified again before it is used again. A body that
/// is found damaged earlier is not returned at all. So this error needs a failing disk, or another program that writes
/// to the files of the store.
public struct StoredBodyError: DescribableError, Hashable {
    package init() {}

    /// A sentence that says what happened.
    public var description: String { "The stored body was damaged on the disk while it was being read." }
}

/// Reads numbers and texts from untrusted bytes; missing bytes read as nil.
package struct ByteReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    package var isAtEnd: Bool { rest.isEmpty }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    package mutating func number<Number: FixedWidthInteger>() -> Number? {
        bytes(MemoryLayout<Number>.size)?.reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }

    /// Reads bytes with their number in front.
    package mutating func part() -> ArraySlice<UInt8>? {
        guard let count: UInt32 = number() else { return nil }
        return bytes(Int(count))
    }

    mutating func text() -> String? {
        part().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads a date; nil for one with which no age can be computed.
    fileprivate mutating func date() -> Date? {
        number().map { Double(bitPattern: $0) }.flatMap { seconds in
            abs(seconds) < 1e12 ? Date(timeIntervalSinceReferenceDate: seconds) : nil
        }
    }

    mutating func fields() -> HTTPFields? {
        guard let count: UInt16 = number() else { return nil }
        var fields = HTTPFields()
        for _ in 0..<count {
            guard let name = text().flatMap({ HTTPField.Name($0) }), let value = part() else { return nil }
            // Not all values are UTF-8, and each has to come back as it was.
            fields.append(HTTPField(name: name, lenientValue: value))
        }
        return fields
    }
}

/// Bytes that numbers and texts are added to, for a ``ByteReader`` to read.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func add(_ number: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func add(_ text: String) {
        add(UInt32(clamping: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    /// Adds bytes with their number in front.
    package mutating func add(part: some Collection<UInt8>) {
        add(UInt32(clamping: part.count))
        bytes.append(contentsOf: part)
    }

    mutating func add(_ fields: HTTPFields) {
        add(UInt16(clamping: fields.count))
        for field in fields {
            add(field.name.rawName)
            unsafe field.withUnsafeBytesOfValue { value in
                add(UInt32(clamping: value.count))
                unsafe bytes.append(contentsOf: value)
            }
        }
    }

    fileprivate mutating func add(_ key: ResponseKey) {
        for text in [key.method.rawValue, key.uri.scheme, key.uri.authority, key.uri.path] { add(text) }
        add(UInt8(key.principal == nil ? 0 : 1))
        add(key.principal?.name ?? "")
        add(UInt16(clamping: key.credentials.count))
        for field in key.credentials {
            add(field.name.canonicalName)
            add(field.value)
        }
    }
}
