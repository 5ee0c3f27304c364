import Decorum
import Foundation
import HTTPTypes
import Synchronization

// Content is matched by its meaning, and fields are not matched. So a recording also answers a request whose content has
// another media type.

extension Cassette {
    /// The note for requests whose content has another media type than it was recorded with, parameters aside; nil if there
    /// are none.
    ///
    /// A recording without a media type tells nothing, since it may be written by hand or by another tool.
    var noteOfMediaTypes: String? {
        guard mode == .replay else { return nil }
        let sent = state.withLock(\.sentFields)
        // Where no rule compares content, a request without a media type may have no content.
        let missing = rules.matching.contains { $0.subject == .body } ? "" : nil
        let lines = sent.sorted { $0.key < $1.key }.compactMap { ordinal, fields in
            (fields[.contentType] ?? missing).flatMap { changeOfMediaType(to: $0, at: ordinal) }
                .map { "\(shownRequest(at: ordinal)) \($0)" }
        }
        return noteOfDifferences(
            lines, in: "the media type of the content", matchedWithout: "`Content-Type`",
            fix: "send the recorded media type; if the change is meant,")
    }

    /// The words for content whose media type is not the recorded one; nil if it is the same, or if none was recorded.
    private func changeOfMediaType(to sent: String, at ordinal: Int) -> String? {
        guard content.hasContent(at: ordinal), var request = try? content.request(at: ordinal),
            !request.body.bytes.isEmpty
        else { return nil }
        // Only the fields are needed, and the redaction of content takes time.
        request.body = RecordedBody()
        let recorded = redactor.matchable(request).fields[.contentType] ?? ""
        let (old, new) = (recorded.mediaTypeEssence, sent.mediaTypeEssence)
        guard !old.isEmpty, old != new else { return nil }
        let lines = RequestLines(scanner: SecretScanner(rules))
        let types = [old, new].map { $0.isEmpty ? "none" : lines.excerpt(lines.scanner.masked($0)) }
        return "was recorded with \(types[0]), and has \(types[1]) now"
    }
}
