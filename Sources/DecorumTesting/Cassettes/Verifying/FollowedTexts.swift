import Decorum
import DecorumArchive
import Foundation

/// The texts in JSON content by which later requests ask for more, such as the cursor of the next page, the identifier of a new
/// item, or a URL.
///
/// Texts in lists are left out, since most of them are data.
struct FollowedTexts {
    /// A shorter text equals a part of another URL by chance, and a longer one is no part of a URL.
    private static let lengths = 6...256
    private static let countLimit = 10_000

    /// The texts by their JSON paths.
    private var all: [String: String] = [:]

    /// The texts in an answer; nil if its content is no JSON, or has too many values.
    init?(in interaction: Interaction) {
        guard let bytes = interaction.response?.body.bytes,
            let value = try? JSONValue(parsing: Array(bytes), countLimit: Self.countLimit)
        else { return nil }
        add(value, at: "$")
    }

    private mutating func add(_ value: JSONValue, at path: String) {
        switch value {
        case .string(let text): all[path] = text
        case .object(let members):
            for member in members { add(member.value, at: "\(path).\(member.name)") }
        case .null, .bool, .number, .array: break
        }
    }

    func hasText(at path: String) -> Bool { all[path] != nil }

    /// The texts that a later URL may have as a part, in the order of their paths.
    var parts: [(path: String, text: String)] {
        all.filter { Self.lengths.contains($0.value.utf8.count) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The URL that a text is, as a client resolves it; nil if it is none.
    static func target(of text: String, from url: String) -> String? {
        guard text.hasPrefix("/") || text.contains("://") else { return nil }
        return FollowedField(name: "", relation: nil, reference: text).target(from: url)
    }

    /// The parts of a URL that may be such texts: the segments of its path and the values of its query, decoded.
    static func words(in url: String) -> Set<String> {
        let parts = url.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1)
        let start = url.range(of: "://")?.upperBound ?? url.startIndex
        let segments = (parts.first ?? "").dropFirst(url.distance(from: url.startIndex, to: start)).split(
            separator: "/"
        )
        .dropFirst().map { $0.removingPercentEncoding ?? String($0) }
        let items = parts.dropFirst().flatMap { $0.split(separator: "&") }
        let values = items.map { item in
            let value = item.drop { $0 != "=" }.dropFirst().replacing("+", with: " ")
            return value.removingPercentEncoding ?? String(value)
        }
        return Set((segments + values).filter { lengths.contains($0.utf8.count) })
    }
}
