import Decorum

/// Finds the values that a client makes anew for each run, such as a UUID, a time in milliseconds or a digest.
package enum RandomValue {
    private static let digitCount = 10
    private static let hexCount = 12
    /// The least digits before the fraction of a number of seconds, such as the time of a `Date`.
    private static let secondsCount = 8

    /// Whether each of two keys of a rule has such a value that the other one lacks.
    static func differs(_ recorded: [UInt8], _ live: [UInt8]) -> Bool {
        let (old, new) = (all(in: recorded), all(in: live))
        return !old.isSubset(of: new) && !new.isSubset(of: old)
    }

    /// Whether a live value has such a value that a recorded one lacks.
    static func isNew(in live: [UInt8], comparedWith recorded: [UInt8]) -> Bool {
        !all(in: live).isSubset(of: all(in: recorded))
    }

    /// Whether the text of an argument looks like one that differs in each run: with a UUID, a time, or an address in
    /// memory.
    package static func isLikely(in text: String) -> Bool {
        !all(in: Array(text.utf8)).isEmpty || text.contains("0x") || text.contains(/\d\d:\d\d:\d\d/)
    }

    /// The words that are a long number, also one with a fraction, or a long hexadecimal one, such as the last part of a UUID.
    private static func all(in bytes: [UInt8]) -> Set<ArraySlice<UInt8>> {
        let words = bytes.split { !$0.isLetterOrDigit }.filter { word in
            word.count >= digitCount && word.allSatisfy(\.isDigit)
                || word.count >= hexCount && word.contains(where: \.isDigit)
                    && word.allSatisfy { $0.isDigit || (0x61...0x66).contains($0 | 0x20) }
        }
        let point = UInt8(ascii: ".")
        let fractions = bytes.split { !$0.isDigit && $0 != point }.filter { number in
            let parts = number.split(separator: point, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[0].count >= secondsCount && !parts[1].isEmpty
        }
        return Set(words + fractions)
    }
}
