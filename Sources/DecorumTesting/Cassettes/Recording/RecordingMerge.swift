import Decorum
import HTTPTypes

/// An interaction of a file that is to be written.
enum SavedInteraction: Sendable {
    /// An interaction of the current file, by its place: it is neither read nor written anew.
    case existing(Int)
    case recorded(Interaction)
}

/// Merges the interactions of a file with new recordings.
struct RecordingMerge {
    let rules: CassetteRules
    let redactor: CassetteRedactor
    let content: CassetteContent

    /// The interactions of the file, followed by the new ones.
    func appended(_ recorded: [Interaction]) -> [SavedInteraction] {
        (0..<content.count).map { .existing($0) } + recorded.map { .recorded($0) }
    }

    /// The new file when each request was recorded anew: an unchanged answer keeps its recording, with its day and its
    /// fields, so that the file does not change.
    ///
    /// An interaction that cannot be read, such as one whose content file is lost, counts as changed.
    func rewritten(_ recorded: [Interaction]) -> [SavedInteraction] {
        let existing = (0..<content.count).compactMap { try? request(at: $0) }
        var known = Dictionary(grouping: existing) { key(of: $0.request) }.mapValues { $0[...] }
        return recorded.map { interaction in
            let old = known[key(of: redactor.matchable(interaction.request))]?.popFirst()?.ordinal
            guard let old, let known = try? content.interaction(at: old), known.isSame(as: interaction) else {
                return .recorded(interaction)
            }
            return .existing(old)
        }
    }

    /// The new recordings, but with the interaction of an earlier file if the answer has not changed since.
    func unchanged(_ recorded: [Interaction], since original: CassetteContent) throws -> [Interaction] {
        try RecordingMerge(rules: rules, redactor: redactor, content: original).rewritten(recorded).map { saved in
            switch saved {
            case .recorded(let interaction): interaction
            case .existing(let ordinal): try original.interaction(at: ordinal)
            }
        }
    }

    /// The new file when another recorder has written it meanwhile: each interaction of either, as often as the one
    /// that has it more often has it.
    ///
    /// The order does not depend on which of them wrote first.
    func united(_ recorded: [Interaction]) throws -> [SavedInteraction] {
        let existing = try (0..<content.count).map { try request(at: $0) }
        var known = Dictionary(grouping: existing) { key(of: $0.request) }.mapValues { $0[...] }
        let new = recorded.map { (request: redactor.matchable($0.request), interaction: $0) }
            .filter { known[key(of: $0.request)]?.popFirst() == nil }
        let all =
            existing.map { (request: $0.request, saved: SavedInteraction.existing($0.ordinal)) }
            + new.map { (request: $0.request, saved: .recorded($0.interaction)) }
        return all.sorted(by: \.request).map(\.saved)
    }

    /// A request of the file, as it is matched.
    private func request(at ordinal: Int) throws -> (ordinal: Int, request: RecordedRequest) {
        (ordinal, redactor.matchable(try content.request(at: ordinal, for: rules.matching)))
    }

    private func key(of request: RecordedRequest) -> [[UInt8]] {
        rules.matching.map { $0.key(request) }
    }
}

extension Array {
    /// The elements sorted by the text of their requests, so that the order is not random.
    func sorted(by request: (Element) -> RecordedRequest) -> [Element] {
        enumerated()
            .map { offset, element in
                let request = request(element)
                let text = [[UInt8](request.url.utf8), [UInt8](request.method.utf8), [UInt8](request.body.bytes)]
                return (offset: offset, text: text, element: element)
            }
            .sorted { one, other in
                for (text, otherText) in zip(one.text, other.text) where text != otherText {
                    return text.lexicographicallyPrecedes(otherText)
                }
                return one.offset < other.offset
            }
            .map(\.element)
    }
}

extension Interaction {
    /// Whether both have the same content, regardless of the time of recording.
    fileprivate func isSame(as other: Interaction) -> Bool {
        func essence(_ interaction: Interaction) -> Interaction {
            var interaction = interaction
            interaction.recordedAt = nil
            interaction.response?.chunks = []
            for name in [.date, .age, .expires, .lastModified] as [HTTPField.Name] {
                interaction.response?.fields[name] = nil
            }
            return interaction
        }
        return essence(self) == essence(other)
    }
}
