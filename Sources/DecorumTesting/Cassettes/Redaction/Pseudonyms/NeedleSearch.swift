/// Searches a text for many byte strings at once, in a time that depends only on the length of the text.
package struct NeedleSearch: Sendable {
    /// A range in which a needle was found.
    package struct Match: Sendable, Hashable {
        /// The bytes of the match.
        package let range: Range<Int>
        /// The tag that was given with the needle.
        package let tag: Int
    }

    private struct Needle {
        let bytes: [UInt8]
        let tag: Int
        /// The offset of the bytes by which the needle is looked up.
        let offset: Int
    }

    /// The number of bytes by which a needle is looked up; a shorter needle is not added.
    package static let minimumLength = 6

    private static let mask: UInt64 = (1 << (8 * UInt64(minimumLength))) - 1
    /// The place of the first two of these bytes.
    private static let shift = UInt64(8 * (minimumLength - 2))

    private var known: Set<[UInt8]> = []
    private var needles: [UInt64: [Needle]] = [:]
    /// For each pair of bytes, whether the bytes of a lookup start with it; this avoids the lookup at most positions.
    private var starts: [Bool] = []

    /// Creates a search without needles.
    package init() {}

    /// Whether there are no needles.
    package var isEmpty: Bool { needles.isEmpty }

    /// Adds a needle unless it is too short or already present.
    ///
    /// The needle is looked up by the part of it that the fewest other needles share, because all tokens of one kind
    /// start with the same bytes.
    ///
    /// - Parameters:
    ///   - bytes: The needle.
    ///   - tag: A number that each match of the needle has.
    package mutating func insert(_ bytes: [UInt8], tag: Int) {
        guard bytes.count >= Self.minimumLength, known.insert(bytes).inserted else { return }
        if starts.isEmpty { starts = Array(repeating: false, count: 1 << 16) }
        var best = (key: 0 as UInt64, offset: 0, count: Int.max)
        let last = bytes.count - Self.minimumLength
        for offset in Array(stride(from: 0, to: last, by: Self.minimumLength)) + [last] {
            let key = bytes[offset..<offset + Self.minimumLength].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            let count = needles[key]?.count ?? 0
            if count < best.count { best = (key, offset, count) }
            if count == 0 { break }
        }
        needles[best.key, default: []].append(Needle(bytes: bytes, tag: tag, offset: best.offset))
        starts[Int(best.key >> Self.shift)] = true
    }

    /// Finds the needles in a text.
    ///
    /// - Parameter text: The bytes to search.
    /// - Returns: The matches from the left, which do not overlap; of two matches with the same start, the longer one.
    package func matches(in text: [UInt8]) -> [Match] {
        guard !needles.isEmpty, text.count >= Self.minimumLength else { return [] }
        var matches: [Match] = []
        var window: UInt64 = 0
        let mask = Self.mask
        let shift = Self.shift
        for index in 0..<text.count {
            window = (window << 8 | UInt64(text[index])) & mask
            let start = index + 1 - Self.minimumLength
            guard start >= 0, starts[Int(window >> shift)], let bucket = needles[window] else { continue }
            for needle in bucket where Self.matches(needle.bytes, in: text, at: start - needle.offset) {
                let start = start - needle.offset
                matches.append(Match(range: start..<start + needle.bytes.count, tag: needle.tag))
            }
        }
        return matches.count < 2 ? matches : Self.apart(matches)
    }

    private static func apart(_ matches: [Match]) -> [Match] {
        var end = 0
        return matches.sorted { one, other in
            (one.range.lowerBound, -one.range.count) < (other.range.lowerBound, -other.range.count)
        }.filter { match in
            guard match.range.lowerBound >= end else { return false }
            end = match.range.upperBound
            return true
        }
    }

    private static func matches(_ needle: [UInt8], in text: [UInt8], at start: Int) -> Bool {
        start >= 0 && start + needle.count <= text.count
            && text[start..<start + needle.count].elementsEqual(needle)
    }
}
