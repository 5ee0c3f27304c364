/// A JSON value that keeps the order of members, repeated members, and the digits of numbers.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// The number as it is written.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A name and its value.
    package struct Member: Sendable, Hashable {
        package var name: String
        package var value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// Reads a whole document, which is refused where it has more values than `countLimit`.
    ///
    /// Each value takes much more memory than the two or three bytes that it may be written with.
    package init(parsing bytes: [UInt8], countLimit: Int = .max) throws {
        var scanner = JSONScanner(bytes)
        // Looking it through first sets a bound to the depth of what follows.
        let range = try scanner.skipValue()
        try scanner.expectEnd()
        scanner = JSONScanner(bytes, range: range)
        var remaining = countLimit
        self = try JSONValue(reading: &scanner, remaining: &remaining)
    }

    private init(reading scanner: inout JSONScanner, remaining: inout Int) throws {
        remaining -= 1
        guard remaining >= 0 else { throw scanner.fault("it has too many values") }
        switch try scanner.peek() {
        case UInt8(ascii: "{"):
            var members: [Member] = []
            try scanner.object { name, scanner in
                members.append(Member(name, try JSONValue(reading: &scanner, remaining: &remaining)))
            }
            self = .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            try scanner.array { scanner in
                elements.append(try JSONValue(reading: &scanner, remaining: &remaining))
            }
            self = .array(elements)
        case UInt8(ascii: "\""): self = .string(try scanner.string())
        case UInt8(ascii: "t"):
            _ = try scanner.skipValue()
            self = .bool(true)
        case UInt8(ascii: "f"):
            _ = try scanner.skipValue()
            self = .bool(false)
        case UInt8(ascii: "n"):
            _ = try scanner.skipValue()
            self = .null
        default: self = .number(String(decoding: scanner.bytes[try scanner.skipValue()], as: UTF8.self))
        }
    }
}

extension JSONValue {
    /// The value of the first member of that name; nil where there is none, or where this is no object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text of a string.
    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The elements of an array.
    package var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members of an object.
    package var members: [Member]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The number as a whole one, with any fraction cut off.
    package var integer: Int? {
        guard case .number(let digits) = self else { return nil }
        return Int(digits) ?? Double(digits).flatMap { Int(exactly: $0.rounded(.towardZero)) }
    }

    /// The number.
    package var double: Double? {
        guard case .number(let digits) = self else { return nil }
        return Double(digits)
    }
}
