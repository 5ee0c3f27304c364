import Foundation
import Synchronization

extension Cassette {
    /// The note for a replayed test that has failed without a request to its cassette, although the cassette has recordings
    /// of the test; nil for every other test.
    ///
    /// A client with a transport of its own reaches for the server, and its error tells of the server alone. Where
    /// recordings may stay unused, or a shared file does not tell whose they are, the test may need none. `shown` are the texts
    /// of the errors that have failed the test: one that names no recorded URL may have come before the first request.
    func noteOfBypass(shown: [String]) -> String? {
        let isSilent = state.withLock { $0.requestCount == 0 && $0.failures.isEmpty }
        let recorded = (0..<content.count).filter(owners.areOf)
        guard mode == .replay, rules.unused != .allow, forgottenSuite == nil, opening == nil || owners.hasOwn, isSilent,
            let first = recorded.first, shown.isEmpty || shown.contains(where: { names($0, anyOf: recorded) })
        else { return nil }
        let count = recorded.count == 1 ? "1 is" : "\(recorded.count) are"
        return
            "The test sent no request to its cassette \(file.relativePath), though \(count) recorded"
            + InteractionPlace.suffix(line: content.line(of: first))
            + ". Unless it failed before its first request, its client sends past the cassette: does it use "
            + "`CassetteConnection()`?"
    }

    /// Whether a text names the URL of a recorded request, without its query.
    private func names(_ text: String, anyOf recorded: [Int]) -> Bool {
        let addresses = Set(recorded.compactMap { try? content.target(at: $0) }.map { URLNearness.address(of: $0.url) })
        return text.split(whereSeparator: \.isWhitespace).contains { word in
            let word = URLNearness.address(of: word.trimmingCharacters(in: Self.quotes))
            return addresses.contains(word) || addresses.contains(word.dropLast())
        }
    }

    private static let quotes = CharacterSet(charactersIn: "\"'`“”<>(),;")
}
