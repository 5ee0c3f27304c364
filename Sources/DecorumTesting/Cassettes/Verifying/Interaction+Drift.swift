import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

extension Interaction {
    /// The differences in kind between a live exchange and the recorded one: status, media type, types of events, shape of
    /// JSON, failure, and the number of parts of secrets.
    ///
    /// Where the status is of another class (RFC 9110, section 15), the answer has another meaning, so its content is shown
    /// in place of the members in which its shape differs.
    func drift(to live: Interaction, masking scanner: SecretScanner) -> [String] {
        var changes: [String] = []
        if exchangeFailure != live.exchangeFailure {
            let isCancelled = live.failure?.kind == RecordedFailure.cancelled
            let now = isCancelled ? "cancelled by the test" : live.failure?.kind ?? "a response"
            changes.append("outcome  was \(failure?.kind ?? "a response"), is \(now)")
        }
        guard let old = response, let new = live.response else { return changes }
        if old.status != new.status {
            let meaning = consequence(of: new.status, in: live).map { ", so \($0)" } ?? ""
            changes.append("status  was \(old.status), is \(new.status)\(meaning)")
            if let words = RefusedScheme.words(for: live.request, new) { changes.append(words) }
        }
        let types = [old, new].map { $0.mediaType ?? "nothing" }
        let isOtherType = types[0] != types[1]
        // These statuses tell themselves that there is no content (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5).
        let isEmpty = [old.status, new.status].contains { [204, 205, 304].contains($0) }
        let isTypeTold = isOtherType && (old.status == new.status || !isEmpty)
        let typeChanges = isTypeTold ? ["media type  was \(types[0]), is \(types[1])"] : []
        changes += typeChanges
        // The content of an answer that was cancelled or broke off has no shape to compare.
        guard live.exchangeFailure == nil || exchangeFailure == live.exchangeFailure else { return changes }
        guard old.status / 100 == new.status / 100 else {
            return changes + [new.excerpt(masking: scanner)].compactMap(\.self).map { "content  \($0)" }
        }
        let isStream = types.allSatisfy { $0 == "text/event-stream" }
        // A stream that was cut may end before an event of each type.
        if isStream, failure == nil, live.failure == nil {
            changes += EventTypes.drift(from: old.body.bytes, to: new.body.bytes)
            changes += BrokenEvents.drift(from: old.body.bytes, to: new.body.bytes)
        }
        let shapes = [old, new].map { isStream ? JSONShape(ofEvents: $0.body.bytes) : JSONShape(of: $0.body.bytes) }
        switch (shapes[0], shapes[1]) {
        case (let old?, let new?): changes += old.drift(to: new, path: isStream ? "events" : "$")
        // Another media type tells already that the content is JSON now, or no longer.
        case (_?, nil) where isOtherType, (nil, _?) where isOtherType: break
        case (_?, nil): changes.append((isStream ? "events  are" : "content  is") + " no JSON any more")
        case (nil, _?): changes.append((isStream ? "events  are" : "content  is") + " JSON now")
        case (nil, nil): break
        }
        changes += SecretParts.drift(from: old.body.bytes, to: new.body.bytes)
        // The words of an error tell what the server lacks, which its members do not; and content may be new as a whole.
        let isOtherError = new.status >= 400 && (old.status != new.status || changes.count > typeChanges.count)
        guard isOtherError || isEmpty && old.body.bytes.isEmpty else { return changes }
        return changes + [new.excerpt(masking: scanner)].compactMap(\.self).map { "content  \($0)" }
    }

    /// The differences in the answer to a request that is sent in place of this one, if both succeed: an error follows from the
    /// request.
    func answerDrift(to live: Interaction, masking scanner: SecretScanner) -> [String] {
        guard succeeds, live.succeeds else { return [] }
        return drift(to: live, masking: scanner).map { scanner.masked("answer  \($0)") }
    }

    /// The meaning of a status that a live exchange has in place of the recorded one; nil where the answer itself tells it.
    private func consequence(of status: Int, in live: Interaction) -> String? {
        switch (cause(in: live), status) {
        case (.outage, 429): "the server asks to wait"
        case (.outage, _): "the server fails"
        case (.refusal, 401):
            live.request.fields.contains(.authorization)
                ? "the server does not accept the credentials" : "the server asks for credentials"
        case (.refusal, 403): "the server forbids it to the user of the test"
        case (.refusal, 404), (.refusal, 410): "the server has nothing at this URL"
        case (.answer, 301) where succeeds, (.answer, 308) where succeeds:
            "requests are to use the URL in `Location` from now on"
        default: nil
        }
    }

    /// The reason of a difference to a live exchange.
    func cause(in live: Interaction) -> CassetteDriftError.Cause {
        guard let old = statusClass else { return .answer }
        guard let new = live.statusClass else {
            return live.failure.map { $0.kind == RecordedFailure.cancelled } ?? true ? .answer : .outage
        }
        if new == 5, old != 5 { return .outage }
        // An answer that broke off is a fault of the server or of the connection.
        if let failure = live.exchangeFailure, failure.kind != RecordedFailure.cancelled, exchangeFailure == nil {
            return .outage
        }
        // A server that limits requests (RFC 6585, section 4) refuses any of them.
        if live.response?.status == 429, response?.status != 429 { return .outage }
        guard new == 4 else { return .answer }
        return old == 4 ? .otherError : .refusal
    }

    /// Whether the status of a live exchange is of another class (RFC 9110, section 15), or there is none.
    func isOfOtherClass(in live: Interaction) -> Bool { statusClass != live.statusClass }

    /// Whether the status is one of success.
    var succeeds: Bool { statusClass == 2 }

    private var statusClass: Int? { response.map { $0.status / 100 } }

    /// The failure of the exchange itself; the end of a recording is not one.
    var exchangeFailure: RecordedFailure? { failure?.isCut == true ? nil : failure }
}

extension RecordedResponse {
    /// The media type without its parameters, in lower case; nil if there is none.
    var mediaType: String? {
        fields[.contentType]?.mediaTypeEssence
    }

    /// The content of a problem (RFC 9457, section 3.1) with its `type` at the end, and without the members that identify one
    /// occurrence or repeat the status; nil if it is no problem, or if nothing else is in it.
    private var problem: Data? {
        guard mediaType == "application/problem+json",
            case .object(let members) = try? JSONValue(parsing: Array(body.bytes))
        else { return nil }
        let told =
            members.filter { !["type", "status", "instance"].contains($0.name) } + members.filter { $0.name == "type" }
        return told.isEmpty ? nil : Data(JSONValue.object(told).document())
    }

    /// The largest number of characters that are shown.
    private static let excerptLimit = 160

    /// The beginning of the redacted content on one line, masked; nil without content.
    func excerpt(masking scanner: SecretScanner) -> String? {
        guard !body.bytes.isEmpty else { return nil }
        // In an archive or a binary format, a secret has no name and is not found.
        guard !fields.contains(.contentEncoding), !body.bytes.contains(0),
            !UnsearchedContent.includes(Array(body.bytes), mediaType: fields[.contentType]),
            let text = String(validating: problem ?? body.bytes, as: UTF8.self)
        else { return "\(body.bytes.count) bytes" }
        // Nothing may be cut off before secrets are masked.
        let words = scanner.masked(text).split(whereSeparator: \.isWhitespace)
        let line = words.joined(separator: " ").withoutControls
        return line.count > Self.excerptLimit ? String(line.prefix(Self.excerptLimit - 1)) + "…" : line
    }
}
