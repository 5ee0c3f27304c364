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
        /// The name.
        package var name: String
        /// The value.
        package var value: JSONValue

        /// Creates a member.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - value: The value.
        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// Parses a whole document; a document with more values than `countLimit` is refused.
    ///
    /// The limit is useful because a value of two or three bytes takes much more memory when it is parsed.
    package init(parsing bytes: [UInt8], countLimit: Int = .max) throws {
        var scanner = JSONScanner(bytes, countLimit: countLimit)
        self = try JSONValue(reading: &scanner)
        try scanner.expectEnd()
    }

    private init(reading scanner: inout JSONScanner) throws {
        switch try scanner.peek() {
        case UInt8(ascii: "{"):
            var members: [Member] = []
            try scanner.object { name, scanner in
                members.append(Member(name, try JSONValue(reading: &scanner)))
            }
            self = .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            try scanner.array { scanner in
                elements.append(try JSONValue(reading: &scanner))
            }
            self = .array(elements)
        case UInt8(ascii: "\""): self = .string(try scanner.string())
        default:
            let text = String(decoding: scanner.bytes[try scanner.skipValue()], as: UTF8.self)
            self =
                switch text {
                case "true": .bool(true)
                case "false": .bool(false)
                case "null": .null
                default: .number(text)
                }
        }
    }
}

extension JSONValue {
    /// The value of the first member of that name; nil when absent, or when this is not an object.
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

    /// The number as an integer; a fraction is cut off.
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

extension JSONValue {
    /// The value as a document without a line break at its end; without an indentation, it is on one line.
    package func document(indentation: Int? = nil) -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output, indentation: indentation, level: 0)
        return output
    }

    private func write(to output: inout [UInt8], indentation: Int?, level: Int) {
        switch self {
        case .null: output += "null".utf8
        case .bool(let value): output += (value ? "true" : "false").utf8
        case .number(let digits): output += digits.utf8
        case .string(let text): output += JSONText.quoted(text)
        case .array(let elements):
            Self.write("[", elements, "]", to: &output, indentation, level) { element, output in
                element.write(to: &output, indentation: indentation, level: level + 1)
            }
        case .object(let members):
            Self.write("{", members, "}", to: &output, indentation, level) { member, output in
                output += JSONText.quoted(member.name)
                output += (indentation == nil ? ":" : ": ").utf8
                member.value.write(to: &output, indentation: indentation, level: level + 1)
            }
        }
    }

    private static func write<Part>(
        _ open: Unicode.Scalar, _ parts: [Part], _ close: Unicode.Scalar, to output: inout [UInt8],
        _ indentation: Int?, _ level: Int, _ part: (Part, inout [UInt8]) -> Void
    ) {
        func breakLine(_ level: Int) {
            guard let indentation else { return }
            output.append(0x0A)
            output.append(contentsOf: repeatElement(0x20, count: indentation * level))
        }
        output.append(UInt8(ascii: open))
        for index in parts.indices {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            breakLine(level + 1)
            part(parts[index], &output)
        }
        if !parts.isEmpty { breakLine(level) }
        output.append(UInt8(ascii: close))
    }
}
