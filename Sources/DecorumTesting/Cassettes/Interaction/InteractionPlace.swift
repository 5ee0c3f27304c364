/// The place of an interaction, as a person finds it.
enum InteractionPlace {
    /// The words for the line of an interaction and the tests that recorded it; empty if neither is known.
    static func words(line: Int?, tests: [String]) -> String {
        let parts =
            (line.map { ["line \($0)"] } ?? [])
            + (tests.isEmpty ? [] : ["recorded by \(tests.joined(separator: ", "))"])
        return parts.joined(separator: ", ")
    }
}
