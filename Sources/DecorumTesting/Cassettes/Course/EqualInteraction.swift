/// The played recordings that others equal, such as a copy that somebody has pasted into a file.
enum EqualInteraction {
    /// The first played interaction that equals each of those that were not played, whatever their days, by their places.
    static func played(besides unplayed: [Int], in content: CassetteContent) -> [Int: Int] {
        let left = Set(unplayed)
        // Only requests to the same URL can be equal, and reading all others takes long.
        let urls = Set(unplayed.map(content.url))
        func withoutDay(at ordinal: Int) -> Interaction? {
            var interaction = try? content.interaction(at: ordinal)
            interaction?.recordedAt = nil
            return interaction
        }
        var played: [Interaction: Int] = [:]
        for ordinal in 0..<content.count where !left.contains(ordinal) && urls.contains(content.url(at: ordinal)) {
            guard let interaction = withoutDay(at: ordinal) else { continue }
            played[interaction] = played[interaction] ?? ordinal
        }
        guard !played.isEmpty else { return [:] }
        return unplayed.reduce(into: [:]) { found, ordinal in
            found[ordinal] = withoutDay(at: ordinal).flatMap { played[$0] }
        }
    }
}
