import Decorum
import Foundation

/// Content in files of other tools, whose fields may name a coding that it does not have.
enum StoredCoding {
    /// Whether bytes begin with the magic number of that coding; nil for a coding without one.
    static func isMagic(_ bytes: Data, of coding: String) -> Bool? {
        let start = Array(bytes.prefix(4))
        switch coding.lowercased() {
        case "gzip", "x-gzip": return start.starts(with: [0x1F, 0x8B])
        case "zstd": return start == [0x28, 0xB5, 0x2F, 0xFD]
        case "deflate":
            // A zlib header (RFC 1950, section 2.2): the method is 8, and the two bytes are a multiple of 31.
            guard start.count > 1, start[0] & 0x0F == 8, start[0] >> 4 <= 7 else { return false }
            return (Int(start[0]) << 8 | Int(start[1])).isMultiple(of: 31)
        default: return nil
        }
    }

    /// Undoes a coding; nil if the coding is not available, or the bytes are not in it.
    ///
    /// The ratio does not matter: the files are those of the developer, and the budget bounds them all.
    ///
    /// - Throws: `ImportFault` if the budget is spent.
    static func decode(
        _ bytes: Data, _ coding: String, within budget: inout ImportBudget
    ) throws(ImportFault) -> Data? {
        try budget.spendAttempt()
        let limits = ContentDecodingLimits(maximumRatio: .max)
        guard let decoder = try? ContentDecoder([ContentCoding(coding)], limits: limits) else { return nil }
        decoder.feed(bytes)
        var content = Data()
        while let part = try? decoder.next() {
            try budget.spend(bytes: part.count)
            content.append(part)
        }
        // An error is thrown again by each call.
        return (try? decoder.finish()) == nil ? nil : content
    }
}
