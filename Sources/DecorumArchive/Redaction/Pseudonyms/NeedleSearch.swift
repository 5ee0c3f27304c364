/// Many strings of bytes, sought in a text at once, in time that grows with the text alone.
public struct NeedleSearch: Sendable {
    /// A place at which a needle was found.
    public struct Match: Sendable, Hashable {
        /// The bytes of the place.
        public let range: Range<Int>
        /// The tag that was given with the needle.
        public let tag: Int
    }

    private struct Needle {
        let bytes: [UInt8]
        let tag: Int
        /// Where in it the bytes stand by which it is looked up.
        let offset: Int
    }

    /// The bytes by which a needle is looked up; a shorter one is not taken.
    public static let minimumLength = 8

    private var known: Set<[UInt8]> = []
    private var needles: [UInt64: [Needle]] = [:]
    /// For each pair of bytes, whether what is looked up starts with it: it spares the lookup at most places.
    private var starts: [Bool] = []

    /// Creates a search without needles.
    public init() {}

    /// Whether there are no needles.
    public var isEmpty: Bool { needles.isEmpty }

    /// Adds a needle unless it is too short or there already.
    ///
    /// It is looked up by those of its bytes by which the fewest others are: tokens of one kind all start in one way.
    ///
    /// - Parameters:
    ///   - bytes: The needle.
    ///   - tag: A number that each match of the needle has.
    public mutating func insert(_ bytes: [UInt8], tag: Int) {
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
        starts[Int(best.key >> 48)] = true
    }

    /// Finds the places of the needles.
    ///
    /// - Parameter text: The bytes to search.
    /// - Returns: The places from the left, of which none overlaps another; of two at one place, the longer.
    public func matches(in text: [UInt8]) -> [Match] {
        guard !needles.isEmpty, text.count >= Self.minimumLength else { return [] }
        var matches: [Match] = []
        var window: UInt64 = 0
        for index in 0..<text.count {
            window = window << 8 | UInt64(text[index])
            let start = index + 1 - Self.minimumLength
            guard start >= 0, starts[Int(window >> 48)], let bucket = needles[window] else { continue }
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
