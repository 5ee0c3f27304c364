import DecorumArchive
import Foundation

/// The values of JSON in a live answer that are others than the recorded ones, while its shape is the same.
///
/// A value may differ in each run, so it fails no test; one that has failed may have read it.
enum OtherValues {
    /// The largest number of answers whose values are told; a test has failed behind the last ones.
    static let answerLimit = 3
    private static let shownCount = 3
    private static let comparedCount = 10_000

    /// The lines for an answer, each with a JSON path; none if no value differs that a test may rely on.
    static func drift(
        from recorded: Interaction, to live: Interaction, without secrets: CassetteRedactor,
        masking scanner: SecretScanner
    ) -> [String] {
        guard recorded.failure == nil, live.failure == nil,
            let old = recorded.response.flatMap({ try? JSONValue(parsing: Array(secrets.comparable($0))) }),
            let new = live.response.flatMap({ try? JSONValue(parsing: Array(secrets.comparable($0))) })
        else { return [] }
        let orders = orders(from: old, to: new, path: "$")
        guard orders.isEmpty else { return orders }
        let values = JSONDifference.all(old, new, limit: comparedCount).filter(isTold)
        let more = values.count - shownCount
        return values.prefix(shownCount).map { $0.line(masking: scanner) }
            + (more > 0 ? ["and \(more) other value\(more == 1 ? "" : "s")"] : [])
    }

    /// The lists whose elements are the same, in another order.
    private static func orders(from old: JSONValue, to new: JSONValue, path: String) -> [String] {
        switch (old, new) {
        case (.array(let old), .array(let new)):
            guard old != new, old.count == new.count, counts(of: old) == counts(of: new) else { return [] }
            return ["\(path)  has the same \(old.count) elements in another order"]
        case (.object(let old), .object(let new)):
            let members = Dictionary(new.map { ($0.name, $0.value) }) { first, _ in first }
            return old.flatMap { member in
                members[member.name].map { orders(from: member.value, to: $0, path: "\(path).\(member.name)") } ?? []
            }
        default: return []
        }
    }

    private static func counts(of elements: [JSONValue]) -> [JSONValue: Int] {
        Dictionary(elements.map { ($0, 1) }, uniquingKeysWith: +)
    }

    /// Whether a server is expected to give the same value in each run: it is no identifier, no time and nothing random.
    private static func isTold(_ difference: JSONDifference) -> Bool {
        let values = [difference.recorded, difference.live].compactMap(\.self)
        guard values.count == 2 else { return false }
        let texts = values.compactMap(text)
        return texts.isEmpty
            || !IdentifierName.includes(String((difference.lastStep ?? "").drop { $0 == "." }))
                && !texts.contains { text in
                    RandomValue.isLikely(in: text) || text.prefixMatch(of: /\d{4}-\d\d-\d\d/) != nil
                }
    }

    /// The text of a string or of a number; nil for any other value.
    private static func text(of value: JSONValue) -> String? {
        switch value {
        case .string(let text), .number(let text): text
        case .null, .bool, .array, .object: nil
        }
    }
}
