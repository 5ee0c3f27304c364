import Decorum
import DecorumArchive
import Foundation

/// The encodings in which formats store bytes as text.
enum StorageEncoding {
    /// Decodes base64 with or without line breaks; nil if it has any other fault.
    static func base64(_ text: String) -> Data? {
        var bytes = Data(text.utf8)
        bytes.removeAll { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        return Data(base64Encoded: bytes)
    }

    /// Decodes pairs of hexadecimal digits; nil if it is anything else, or empty.
    static func hexadecimal(_ text: String) -> Data? {
        let digits = Array(text.utf8)
        guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
        var output = Data(capacity: digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Unicode.Scalar(digits[index]).hexValue,
                let low = Unicode.Scalar(digits[index + 1]).hexValue
            else { return nil }
            output.append(high << 4 | low)
        }
        return output
    }

    /// The strings of a document that is a list of strings and nothing else.
    ///
    /// - Throws: `ImportFault` if the budget is spent.
    static func chunks(_ text: String, within budget: inout ImportBudget) throws(ImportFault) -> [String]? {
        guard text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "[") else { return nil }
        var scanner = JSONScanner(Array(text.utf8), countLimit: budget.count)
        var chunks: [String] = []
        let isList: Void? = try? scanner.array { chunks.append(try $0.string()) }
        try budget.spend(values: chunks.count)
        guard isList != nil, (try? scanner.expectEnd()) != nil, !chunks.isEmpty else { return nil }
        return chunks
    }

    /// The bytes that the parts encode, all of them strictly in one encoding.
    static func joined(_ chunks: [String], _ decode: (String) -> Data?) -> Data? {
        var output = Data()
        for chunk in chunks where !chunk.isEmpty {
            guard let bytes = decode(chunk) else { return nil }
            output += bytes
        }
        return output
    }
}

extension Unicode.Scalar {
    fileprivate var hexValue: UInt8? {
        Character(self).hexDigitValue.map { UInt8($0) }
    }
}
