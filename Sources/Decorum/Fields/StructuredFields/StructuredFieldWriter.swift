import Foundation

/// Writes structured fields, by the algorithms of RFC 9651, section 4.1.
struct StructuredFieldWriter {
    private static let largest: Int64 = 999_999_999_999_999

    private var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func append(_ list: StructuredList) throws(StructuredFieldError) {
        for (index, member) in list.members.enumerated() {
            if index > 0 { append(", ") }
            try append(member)
        }
    }

    mutating func append(_ dictionary: StructuredDictionary) throws(StructuredFieldError) {
        for index in dictionary.indices {
            let (key, member) = dictionary[index]
            if index > 0 { append(", ") }
            try append(key: key)
            if case .item(let item) = member, item.value == true {
                try append(item.parameters)
            } else {
                append("=")
                try append(member)
            }
        }
    }

    mutating func append(_ member: StructuredMember) throws(StructuredFieldError) {
        guard let items = member.innerList else {
            if let item = member.item { try append(item) }
            return
        }
        append("(")
        for (index, item) in items.enumerated() {
            if index > 0 { append(" ") }
            try append(item)
        }
        append(")")
        try append(member.parameters)
    }

    mutating func append(_ item: StructuredItem) throws(StructuredFieldError) {
        try append(item.value)
        try append(item.parameters)
    }

    mutating func append(_ parameters: StructuredParameters) throws(StructuredFieldError) {
        for (key, value) in parameters {
            append(";")
            try append(key: key)
            guard value != true else { continue }
            append("=")
            try append(value)
        }
    }
}

extension StructuredFieldWriter {
    private mutating func append(key: String) throws(StructuredFieldError) {
        guard key.isStructuredKey else {
            throw fault("a key is not a small letter or * before small letters, digits, _, -, . and *")
        }
        append(key)
    }

    private mutating func append(_ value: StructuredValue) throws(StructuredFieldError) {
        switch value {
        case .integer(let number): try append(number)
        case .decimal(let thousandths): try append(thousandths: thousandths)
        case .string(let text): try append(string: text)
        case .token(let word):
            guard word.isStructuredToken else { throw fault("a token is empty or has a character that no token has") }
            append(word)
        case .byteSequence(let data): append(":" + data.base64EncodedString() + ":")
        case .boolean(let isTrue): append(isTrue ? "?1" : "?0")
        case .date(let date):
            guard let seconds = Int64(exactly: date.timeIntervalSince1970.rounded(.down)) else {
                throw fault("a date is too far away")
            }
            append("@")
            try append(seconds)
        case .displayString(let text): append(displayString: text)
        }
    }

    private mutating func append(_ number: Int64) throws(StructuredFieldError) {
        guard (-Self.largest...Self.largest).contains(number) else { throw fault("an integer has more than 15 digits") }
        append(String(number))
    }

    private mutating func append(thousandths: Int64) throws(StructuredFieldError) {
        guard (-Self.largest...Self.largest).contains(thousandths) else {
            throw fault("a decimal has more than 12 digits before the point")
        }
        if thousandths < 0 { append("-") }
        let (whole, fraction) = abs(thousandths).quotientAndRemainder(dividingBy: 1000)
        append("\(whole).\(fraction / 100)")
        if fraction % 100 != 0 { append(String(fraction / 10 % 10)) }
        if fraction % 10 != 0 { append(String(fraction % 10)) }
    }

    private mutating func append(string: String) throws(StructuredFieldError) {
        guard string.isStructuredString else {
            throw fault("a string has a character that is not printable ASCII; a display string may")
        }
        append("\"")
        for byte in string.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append("\\") }
            bytes.append(byte)
        }
        append("\"")
    }

    private mutating func append(displayString: String) {
        let digits = Array("0123456789abcdef".utf8)
        append("%\"")
        for byte in displayString.utf8 {
            if byte.isPrintableASCII, byte != UInt8(ascii: "%"), byte != UInt8(ascii: "\"") {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        append("\"")
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    private func fault(_ reason: String) -> StructuredFieldError {
        StructuredFieldError(reason: reason, offset: bytes.count)
    }
}
