import Foundation

/// The types of the events in two streams (WHATWG HTML, section 9.2.6).
///
/// A client chooses the events that it reads by their types, so it no longer gets those of a type that was renamed, whatever
/// the shape of their data.
enum EventTypes {
    private static let shownCount = 5

    /// The types that only one of the streams has, as one line; none where a stream has no event, which is of no type.
    static func drift(from old: Data, to new: Data) -> [String] {
        let (old, new) = (EventLines(Array(old)).typeNames, EventLines(Array(new)).typeNames)
        guard !old.isEmpty, !new.isEmpty else { return [] }
        let parts = [words(old.subtracting(new), "missing"), words(new.subtracting(old), "new")].compactMap(\.self)
        return parts.isEmpty ? [] : ["events  " + parts.joined(separator: ", and ")]
    }

    /// The numbers of events by type, where the streams have other ones; a type that only one of two streams has is told
    /// already.
    static func countDrift(from old: Data, to new: Data) -> [String] {
        let (old, new) = (EventLines(Array(old)).typeCounts, EventLines(Array(new)).typeCounts)
        return old.sorted { $0.key < $1.key }.compactMap { type, before in
            let after = new[type] ?? 0
            guard before != after, after > 0 || new.isEmpty else { return nil }
            let recorded = "\(before) of the type “\(type.withoutControls)” \(before == 1 ? "is" : "are") recorded"
            return "events  \(recorded), \(after == 0 ? "none" : "\(after)") came"
        }
    }

    private static func words(_ types: Set<String>, _ change: String) -> String? {
        guard !types.isEmpty else { return nil }
        let names = types.sorted().prefix(shownCount).map { "“\($0.withoutControls)”" }.joined(separator: ", ")
        let more = types.count > shownCount ? " and \(types.count - shownCount) more" : ""
        return types.count == 1 ? "the type \(names) is \(change)" : "the types \(names)\(more) are \(change)"
    }
}
