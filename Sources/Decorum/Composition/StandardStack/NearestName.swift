extension Sequence<String> {
    /// The name that a misspelled one most likely stands for; nil where none is near.
    ///
    /// Names are near that differ in letter case, hyphens and underscores alone, of which one begins or ends with the other,
    /// or that differ in few letters.
    func nearest(to name: String) -> String? {
        let plain = name.plainLetters
        guard plain.count > 1 else { return nil }
        let distances = map { candidate -> (name: String, distance: Int) in
            let other = candidate.plainLetters
            if other == plain { return (candidate, 0) }
            let isPart =
                other.hasPrefix(plain) || other.hasSuffix(plain) || plain.hasPrefix(other) || plain.hasSuffix(other)
            return (candidate, isPart ? 1 : plain.distance(to: other))
        }
        let best = distances.min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        return best.flatMap { $0.distance <= Swift.max(1, plain.count / 3) ? $0.name : nil }
    }
}

extension String {
    fileprivate var plainLetters: String { lowercased().filter { $0 != "_" && $0 != "-" } }

    /// The number of letters to insert, to remove or to replace.
    fileprivate func distance(to other: String) -> Int {
        let letters = Array(other)
        var row = Array(0...letters.count)
        for (index, letter) in enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in letters.indices {
                let replaced = diagonal + (letters[column] == letter ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[letters.count]
    }
}
