import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// The note for requests that have other conditions than they were recorded with, such as `If-None-Match`; nil if there
    /// are none.
    ///
    /// Fields are not matched, so a recorded 304 answers a request without a condition too.
    func noteOfConditions(_ recorded: [Int: HTTPFields]) -> String? {
        let sent = state.withLock(\.sentFields)
        let lines = recorded.sorted { $0.key < $1.key }.compactMap { ordinal, fields -> String? in
            // A recording without fields tells nothing, since it may be written by hand or by another tool.
            guard !fields.isEmpty else { return nil }
            return RequestConditions.difference(from: fields, to: sent[ordinal] ?? [:])
                .map { "\(shownRequest(at: ordinal)) \($0)" }
        }
        return noteOfDifferences(
            lines, in: "conditions", matchedWithout: "these fields",
            fix: "send them as they were recorded; if the change is meant,")
    }
}
