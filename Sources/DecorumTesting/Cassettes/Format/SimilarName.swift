/// The similarity of two names, by which a name that is misspelled is told.
enum SimilarName {
    /// Whether a name is like another one, and not the same: a letter in three may be changed, added, left out or exchanged with
    /// the next one, and the case makes no difference.
    static func isMisspelled(_ name: String, for other: String) -> Bool {
        guard name != other, name.utf8.count <= 2 * other.utf8.count else { return false }
        let distance = distance(Array(name.lowercased().utf8), Array(other.utf8))
        return distance <= max(1, other.utf8.count / 3)
    }

    /// The name among some that is nearest to another one: it is misspelled for it, or one of both is a part of the other, as
    /// `detail` is of `itemDetail`; nil if none is near.
    static func nearest(to name: String, among names: some Sequence<String>) -> String? {
        let wanted = name.lowercased()
        let found = names.filter { candidate in
            let candidate = candidate.lowercased()
            let isLonger = candidate.contains(wanted) || wanted.contains(candidate)
            return candidate == wanted || isMisspelled(candidate, for: wanted)
                || isLonger && min(candidate.utf8.count, wanted.utf8.count) >= leastPart
        }
        return nearest(to: wanted, of: found)
    }

    /// The name that is nearest to another one in small letters, however far; nil if there is none.
    static func nearest(to wanted: String, of names: [String]) -> String? {
        names.min { one, other in
            let distances = [one, other].map { distance(Array($0.lowercased().utf8), Array(wanted.utf8)) }
            return (distances[0], one) < (distances[1], other)
        }
    }

    /// The length of a part of both names that is no chance.
    private static let leastPart = 4

    /// The least number of such changes (Damerau, of neighbours only).
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var rows = [Array(0...other.count)]
        for (row, byte) in one.enumerated() {
            let last = rows[row]
            var next = [row + 1]
            for (column, expected) in other.enumerated() {
                var least = min(last[column + 1] + 1, next[column] + 1, last[column] + (byte == expected ? 0 : 1))
                if row > 0, column > 0, byte == other[column - 1], one[row - 1] == expected {
                    least = min(least, rows[row - 1][column - 1] + 1)
                }
                next.append(least)
            }
            rows.append(next)
        }
        return rows[one.count][other.count]
    }
}
