import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// The note for requests that have other conditions than they were recorded with, such as `If-None-Match`; nil if there
    /// are none.
    ///
    /// Fields are not matched, so a recorded 304 answers a request without a condition too.
    var noteOfConditions: String? {
        guard mode == .replay else { return nil }
        let (answered, sent) = state.withLock { ($0.answered, $0.sentFields) }
        let lines = answered.keys.sorted().compactMap { ordinal -> String? in
            // A recording without fields tells nothing, since it may be written by hand or by another tool.
            guard let request = try? content.request(at: ordinal), !request.fields.isEmpty else { return nil }
            return RequestConditions.difference(from: request.fields, to: sent[ordinal] ?? [:])
                .map { "\(shownRequest(at: ordinal)) \($0)" }
        }
        guard !lines.isEmpty else { return nil }
        let advice = adviceToRecord(or: "`\(rewriteCommand)` records the test anew")
        return DifferingRequests(
            file: file.relativePath, part: "conditions", fields: "these fields", lines: lines
        ).note(fix: "send them as they were recorded; if the change is meant, \(advice)")
    }
}
