import Decorum
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
        let lists = ReorderedLists(from: old, to: new)
        let values = JSONDifference.all(old, lists.restored, limit: comparedCount).filter(isTold)
        let more = values.count - shownCount
        return lists.lines.prefix(shownCount)
            + values.prefix(shownCount).map { $0.line(masking: scanner, of: "the answer", showsContents: true) }
            + (more > 0 ? ["and \(more) other value\(more == 1 ? "" : "s")"] : [])
    }

    /// Whether a server is expected to give the same value in each run: it is no identifier, no time and nothing random.
    private static func isTold(_ difference: JSONDifference) -> Bool {
        let values = [difference.recorded, difference.live].compactMap(\.self)
        // The elements of a list within another one are counted nowhere; members belong to the shape.
        guard values.count == 2 else { return difference.lastStep?.first == "[" }
        let texts = values.compactMap(text)
        return texts.isEmpty
            || !IdentifierName.includes(difference.memberName ?? "")
                && (!texts.contains(where: isTransient) && !texts.allSatisfy(isOpaque)
                    || Set(texts.map(form)).count > 1 && texts.contains(where: isTime))
    }

    private static func isTransient(_ text: String) -> Bool { RandomValue.isLikely(in: text) || isTime(text) }

    private static func isOpaque(_ text: String) -> Bool { OpaqueText.isOpaque(Array(text.utf8)[...]) }

    private static func isTime(_ text: String) -> Bool {
        text.firstMatch(of: /^\d{4}-\d\d-\d\d|\d\d:\d\d/) != nil
    }

    /// The form of a time, whichever it is and whether or not it has a fraction: a reader of one form cannot read another one.
    private static func form(of text: String) -> String {
        text.replacing(/(:\d+)\.\d+/) { $0.output.1 }.replacing(/\d+/, with: "0").replacing(/\p{L}+/, with: "a")
    }

    /// The text of a string or of a number; nil for any other value.
    private static func text(of value: JSONValue) -> String? {
        switch value {
        case .string(let text), .number(let text): text
        case .null, .bool, .array, .object: nil
        }
    }
}
