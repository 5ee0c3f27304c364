import Foundation

/// Parses a structured field by the algorithms of RFC 9651, section 4.2.
///
/// Each byte of any input is read once or twice, and nothing nests deeper than an item in an inner list.
struct StructuredFieldScanner {
    let bytes: [UInt8]
    var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func wholeItem() throws(StructuredFieldError) -> StructuredItem {
        skipSpaces()
        let item = try item()
        skipSpaces()
        guard next == nil else { throw fault("there is text after the item") }
        return item
    }

    mutating func wholeList() throws(StructuredFieldError) -> [StructuredMember] {
        skipSpaces()
        var members: [StructuredMember] = []
        guard next != nil else { return members }
        repeat { members.append(try member()) } while try skipComma()
        return members
    }

    mutating func wholeDictionary(
        allowingRepeatedKeys: Bool = true
    ) throws(StructuredFieldError) -> StructuredDictionary {
        skipSpaces()
        var dictionary = StructuredDictionary()
        guard next != nil else { return dictionary }
        repeat {
            let key = try key()
            guard allowingRepeatedKeys || dictionary[key] == nil else { throw fault("a key is repeated") }
            let member = try skip(UInt8(ascii: "=")) ? member() : StructuredMember(true, parameters: parameters())
            dictionary.set(member, for: key)
        } while try skipComma()
        return dictionary
    }

    /// Consumes the separator between two members; returns whether another member follows.
    private mutating func skipComma() throws(StructuredFieldError) -> Bool {
        skipBlanks()
        guard next != nil else { return false }
        guard skip(UInt8(ascii: ",")) else { throw fault("a comma is expected") }
        skipBlanks()
        guard next != nil else { throw fault("nothing follows a comma") }
        return true
    }

    private mutating func member() throws(StructuredFieldError) -> StructuredMember {
        guard skip(UInt8(ascii: "(")) else { return .item(try item()) }
        var items: [StructuredItem] = []
        while true {
            skipSpaces()
            if skip(UInt8(ascii: ")")) { return .innerList(items, parameters: try parameters()) }
            guard next != nil else { throw fault("an inner list has no end") }
            items.append(try item())
            guard next == nil || next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else {
                throw fault("a blank or the end of an inner list is expected")
            }
        }
    }

    private mutating func item() throws(StructuredFieldError) -> StructuredItem {
        let value = try value()
        return StructuredItem(value, parameters: try parameters())
    }

    private mutating func parameters() throws(StructuredFieldError) -> StructuredParameters {
        var parameters = StructuredParameters()
        while skip(UInt8(ascii: ";")) {
            skipSpaces()
            let key = try key()
            parameters.set(try skip(UInt8(ascii: "=")) ? value() : true, for: key)
        }
        return parameters
    }

    private mutating func key() throws(StructuredFieldError) -> String {
        guard let first = next, first.startsStructuredKey else { throw fault("a key is expected") }
        return text { $0.continuesStructuredKey }
    }
}

extension StructuredFieldScanner {
    /// The next byte, which is not consumed.
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Consumes a byte if it is the next one.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Consumes the bytes that satisfy a condition; they have to be ASCII.
    mutating func text(while isPart: (UInt8) -> Bool) -> String {
        let start = position
        while let next, isPart(next) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    func fault(_ reason: String) -> StructuredFieldError { StructuredFieldError(reason: reason, offset: position) }

    private mutating func skipSpaces() {
        while next == UInt8(ascii: " ") { position += 1 }
    }

    private mutating func skipBlanks() {
        while next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") { position += 1 }
    }
}

/// A structured field that cannot be parsed, or a value that cannot be serialized.
///
/// A field that cannot be parsed is treated as absent (RFC 9651, section 4.2). Neither the error nor its description
/// holds any part of the field.
public struct StructuredFieldError: DescribableError, Hashable {
    /// The problem, as one of a few clauses, suitable for a metric.
    public let reason: String
    /// The byte offset of the problem: in the value of the field, or in the text that was serialized so far.
    public let offset: Int
}

extension StructuredFieldError {
    /// A sentence that says what is wrong and where.
    public var description: String { "The structured field is invalid at byte \(offset): \(reason)." }
}

extension StructuredFieldScanner {
    /// Reads a bare item (RFC 9651, section 4.2.3.1).
    mutating func value() throws(StructuredFieldError) -> StructuredValue {
        guard let first = next else { throw fault("a value is expected") }
        switch first {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: ":"): return .byteSequence(try byteSequence())
        case UInt8(ascii: "?"): return .boolean(try boolean())
        case UInt8(ascii: "@"): return .date(try date())
        case UInt8(ascii: "%"): return .displayString(try displayString())
        case _ where first.startsStructuredToken: return .token(text { $0.continuesStructuredToken })
        default: throw fault("a value is expected")
        }
    }

    private mutating func number() throws(StructuredFieldError) -> StructuredValue {
        let sign: Int64 = skip(UInt8(ascii: "-")) ? -1 : 1
        let (whole, count) = digits(upTo: 16)
        guard count > 0 else { throw fault("a digit is expected") }
        guard next == UInt8(ascii: ".") else {
            guard count <= 15 else { throw fault("an integer has more than 15 digits") }
            return .integer(sign * whole)
        }
        guard count <= 12 else { throw fault("a decimal has more than 12 digits before the point") }
        position += 1
        let (fraction, fractionCount) = digits(upTo: 4)
        guard fractionCount > 0 else { throw fault("a digit is expected") }
        guard fractionCount <= 3 else { throw fault("a decimal has more than 3 digits after the point") }
        let factor: Int64 = fractionCount == 1 ? 100 : fractionCount == 2 ? 10 : 1
        return .decimal(thousandths: sign * (whole * 1000 + fraction * factor))
    }

    private mutating func digits(upTo limit: Int) -> (number: Int64, count: Int) {
        let start = position
        var number: Int64 = 0
        while let next, (0x30...0x39).contains(next), position - start < limit {
            number = number * 10 + Int64(next - 0x30)
            position += 1
        }
        return (number, position - start)
    }

    private mutating func string() throws(StructuredFieldError) -> String {
        position += 1
        let start = position
        var isEscaped = false
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte.isPrintableASCII else { throw fault("a string has a character that is not printable ASCII") }
            position += 1
            guard byte == UInt8(ascii: "\\") else { continue }
            isEscaped = true
            guard next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\") else {
                throw fault("a backslash escapes neither a quotation mark nor a backslash")
            }
            position += 1
        }
        let content = bytes[start..<position]
        guard skip(UInt8(ascii: "\"")) else { throw fault("a string has no end") }
        return String(decoding: isEscaped ? content.withoutEscapes : content, as: UTF8.self)
    }

    private mutating func byteSequence() throws(StructuredFieldError) -> Data {
        position += 1
        var decoded = Data()
        var bits: UInt32 = 0
        var count = 0
        while let digit = next?.base64Digit {
            bits = bits << 6 | UInt32(digit)
            count += 1
            position += 1
            // The bits that were already taken are shifted out.
            if count % 4 == 2 { decoded.append(UInt8(truncatingIfNeeded: bits >> 4)) }
            if count % 4 == 3 { decoded.append(UInt8(truncatingIfNeeded: bits >> 2)) }
            if count % 4 == 0 { decoded.append(UInt8(truncatingIfNeeded: bits)) }
        }
        // Missing padding, and non-zero bits before the padding, are accepted, as the RFC recommends.
        var padding = (4 - count % 4) % 4
        while padding > 0, skip(UInt8(ascii: "=")) { padding -= 1 }
        guard count % 4 != 1, skip(UInt8(ascii: ":")) else {
            throw fault("a byte sequence is not base64 up to a colon")
        }
        return decoded
    }

    private mutating func boolean() throws(StructuredFieldError) -> Bool {
        position += 1
        if skip(UInt8(ascii: "1")) { return true }
        guard skip(UInt8(ascii: "0")) else { throw fault("a Boolean is neither 0 nor 1") }
        return false
    }

    private mutating func date() throws(StructuredFieldError) -> Date {
        position += 1
        // A `Double` holds every integer of 15 digits exactly.
        guard case .integer(let seconds) = try number() else { throw fault("a date is not a whole number of seconds") }
        return Date(timeIntervalSince1970: Double(seconds))
    }

    private mutating func displayString() throws(StructuredFieldError) -> String {
        position += 1
        guard skip(UInt8(ascii: "\"")) else { throw fault("a quotation mark is expected") }
        let start = position
        var decoded: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte.isPrintableASCII else { throw fault("a display string has a character that is not escaped") }
            position += 1
            decoded.append(byte == UInt8(ascii: "%") ? try escapedByte() : byte)
        }
        guard skip(UInt8(ascii: "\"")) else { throw fault("a display string has no end") }
        guard let text = String(validating: decoded, as: UTF8.self) else {
            throw StructuredFieldError(reason: "a display string is not UTF-8", offset: start)
        }
        return text
    }

    private mutating func escapedByte() throws(StructuredFieldError) -> UInt8 {
        guard position + 2 <= bytes.count, let high = bytes[position].smallHexDigit,
            let low = bytes[position + 1].smallHexDigit
        else { throw fault("two digits or letters from a to f are expected") }
        position += 2
        return high << 4 | low
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without the backslashes that escape other bytes.
    fileprivate var withoutEscapes: ArraySlice<UInt8> {
        var unescaped: ArraySlice<UInt8> = []
        unescaped.reserveCapacity(count)
        var isEscaped = false
        for byte in self {
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            if !isEscaped { unescaped.append(byte) }
        }
        return unescaped
    }
}

extension UInt8 {
    fileprivate var base64Digit: UInt8? {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): self - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): self - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }

    /// The value of a hexadecimal digit; capital letters are not valid in a display string.
    fileprivate var smallHexDigit: UInt8? {
        (0x41...0x46).contains(self) ? nil : PercentCoding.hexDigit(self)
    }
}

/// The classes of characters in RFC 9651.
extension UInt8 {
    var isPrintableASCII: Bool { (0x20...0x7E).contains(self) }

    var startsStructuredKey: Bool { isSmallLetter || self == UInt8(ascii: "*") }

    var continuesStructuredKey: Bool { isSmallLetter || isDigit || "_-.*".utf8.contains(self) }

    var startsStructuredToken: Bool { isLetter || self == UInt8(ascii: "*") }

    var continuesStructuredToken: Bool { isLetter || isDigit || "!#$%&'*+-.^_`|~:/".utf8.contains(self) }

    private var isSmallLetter: Bool { (0x61...0x7A).contains(self) }
    private var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    private var isDigit: Bool { (0x30...0x39).contains(self) }
}

extension String {
    var isStructuredKey: Bool {
        utf8.first?.startsStructuredKey == true && allUTF8 { $0.continuesStructuredKey }
    }

    var isStructuredToken: Bool {
        utf8.first?.startsStructuredToken == true && allUTF8 { $0.continuesStructuredToken }
    }

    var isStructuredString: Bool { allUTF8 { $0.isPrintableASCII } }
}
