import Decorum
import HTTPTypes

/// Puts together what a file holds and what was recorded anew.
struct RecordingMerge {
    let rules: CassetteRules
    let redactor: CassetteRedactor

    /// What stands in the file when each request was made anew: an answer that has not changed stays as it was, with the
    /// day and the fields that it had, so that nothing changes in the file.
    func rewritten(_ existing: [Interaction], with recorded: [Interaction]) -> [Interaction] {
        var known = Dictionary(grouping: existing) { key(of: $0) }.mapValues { $0[...] }
        return recorded.map { interaction in
            guard let old = known[key(of: interaction)]?.popFirst(), old.isSame(as: interaction) else {
                return interaction
            }
            return old
        }
    }

    /// What stands in the file when another recorder has written it meanwhile: what either of them has, as often as the
    /// one that has it more often, in an order that does not depend on which of them was first.
    func united(_ existing: [Interaction], with recorded: [Interaction]) -> [Interaction] {
        var known = Dictionary(grouping: existing) { key(of: $0) }.mapValues { $0[...] }
        let new = recorded.filter { known[key(of: $0)]?.popFirst() == nil }
        return (existing + new).sorted { redactor.matchable($0.request) }
    }

    private func key(of interaction: Interaction) -> [[UInt8]] {
        let request = redactor.matchable(interaction.request)
        return rules.matching.map { $0.key(request) }
    }
}

extension [Interaction] {
    /// In the order of their requests' text, so that it does not depend on chance.
    func sorted(by request: (Interaction) -> RecordedRequest) -> [Interaction] {
        enumerated()
            .map { offset, interaction in
                let request = request(interaction)
                let body = String(decoding: request.body.bytes, as: UTF8.self)
                return (offset: offset, text: [request.url, request.method, body], interaction: interaction)
            }
            .sorted { $0.text == $1.text ? $0.offset < $1.offset : $0.text.lexicographicallyPrecedes($1.text) }
            .map(\.interaction)
    }
}

extension Interaction {
    /// Whether both tell the same, whenever they were recorded.
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
