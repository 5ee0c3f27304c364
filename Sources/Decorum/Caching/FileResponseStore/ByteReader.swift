import HTTPTypes

/// Reads numbers and texts from untrusted bytes; missing bytes read as nil.
///
/// `@safe`, since nothing is read beyond the count, and no reader outlives the closure that was given the bytes.
@safe struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = unsafe bytes
    }

    var isAtEnd: Bool { unsafe offset == bytes.count }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
        guard let part = unsafe part(MemoryLayout<Number>.size) else { return nil }
        return unsafe Number(littleEndian: part.loadUnaligned(as: Number.self))
    }

    /// Reads a part with its length in front.
    mutating func part() -> UnsafeRawBufferPointer? {
        guard let count = number(UInt32.self) else { return nil }
        return unsafe part(Int(clamping: count))
    }

    private mutating func part(_ count: Int) -> UnsafeRawBufferPointer? {
        guard unsafe count <= bytes.count - offset else { return nil }
        defer { offset += count }
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    mutating func text() -> String? {
        guard let part = unsafe part() else { return nil }
        return unsafe String(decoding: part, as: UTF8.self)
    }

    /// Reads a text and returns whether it is a given one.
    mutating func skip(_ text: String) -> Bool {
        guard let part = unsafe part(), part.count == text.utf8.count else { return false }
        return unsafe part.elementsEqual(text.utf8)
    }

    mutating func fields() -> HTTPFields? {
        guard let count = number(UInt16.self) else { return nil }
        var fields = HTTPFields()
        for _ in 0..<count {
            guard let name = text(), let fieldName = HTTPField.Name(name), let value = unsafe part() else { return nil }
            // Not all values are UTF-8, and each has to come back as it was.
            unsafe fields.append(HTTPField(name: fieldName, lenientValue: value))
        }
        return fields
    }
}

/// Bytes that numbers and texts are added to, for a ``ByteReader`` to read.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ number: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func add(_ text: String) {
        add(UInt32(clamping: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
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
}
