/// Many strings of bytes, sought in a text at once, in time that grows with the text alone.
package struct NeedleSearch: Sendable {
    package struct Match: Sendable, Hashable {
        package let range: Range<Int>
        /// What was said when the needle was added.
        package let tag: Int
    }

    private struct Needle {
        let bytes: [UInt8]
        let tag: Int
    }

    /// The bytes by which a needle is looked up; a shorter one is not taken.
    package static let minimumLength = 8

    // Longest first, so that of two that match at one place the longer wins.
    private var needles: [UInt64: [Needle]] = [:]
    /// For each pair of bytes, whether a needle starts with it: it spares the lookup at most places.
    private var starts: [Bool] = []

    package init() {}

    package var isEmpty: Bool { needles.isEmpty }

    /// Adds a needle unless it is too short or there already.
    package mutating func insert(_ bytes: [UInt8], tag: Int) {
        guard bytes.count >= Self.minimumLength else { return }
        if starts.isEmpty { starts = Array(repeating: false, count: 1 << 16) }
        let key = bytes.prefix(Self.minimumLength).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        var bucket = needles[key] ?? []
        guard !bucket.contains(where: { $0.bytes == bytes }) else { return }
        let index = bucket.firstIndex { $0.bytes.count < bytes.count } ?? bucket.endIndex
        bucket.insert(Needle(bytes: bytes, tag: tag), at: index)
        needles[key] = bucket
        starts[Int(key >> 48)] = true
    }

    /// Finds the places of the needles, from the left, none overlapping another.
    package func matches(in text: [UInt8]) -> [Match] {
        guard !needles.isEmpty, text.count >= Self.minimumLength else { return [] }
        var matches: [Match] = []
        var window: UInt64 = 0
        var matched = 0
        for index in 0..<text.count {
            window = window << 8 | UInt64(text[index])
            let start = index + 1 - Self.minimumLength
            guard start >= matched, starts[Int(window >> 48)], let bucket = needles[window] else { continue }
            guard let needle = bucket.first(where: { Self.matches($0.bytes, in: text, at: start) }) else { continue }
            matched = start + needle.bytes.count
            matches.append(Match(range: start..<matched, tag: needle.tag))
        }
        return matches
    }

    private static func matches(_ needle: [UInt8], in text: [UInt8], at start: Int) -> Bool {
        start + needle.count <= text.count && text[start..<start + needle.count].elementsEqual(needle)
    }
}
