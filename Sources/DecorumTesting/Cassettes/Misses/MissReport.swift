import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// A request that failed at a cassette, and the recording that belongs to it, in full, as text for the report of a test.
///
/// They are redacted before; texts that look like secrets are masked here.
struct MissReport {
    /// The longest content that is shown, in bytes.
    private static let limit = 64 << 10

    let scanner: SecretScanner

    /// The text of a missed request and the nearest recorded one; `nearest` is redacted as for matching, and `shown` is the same request with the placeholders of the file.
    func text(
        _ live: RecordedRequest, number: Int, nearest: RecordedRequest?, shown: RecordedRequest?, name: String
    ) -> String {
        var parts = ["request \(number)\n\n" + message(live, hiding: nearest)]
        if let shown { parts.append("\(name)\n\n" + message(shown, hiding: nil)) }
        return parts.joined(separator: "\n\n----\n\n") + "\n"
    }

    /// The text of a request that was not sent, without its content: no recorded one tells where a secret without a name stands.
    func text(unsent request: RecordedRequest) -> String {
        let count = request.body.bytes.count
        return head("\(request.method) \(request.url)", request.fields) + (count == 0 ? "" : "\n(\(count) bytes)\n")
    }

    /// The text of a recording and its answer, which are redacted with the placeholders of the file.
    func text(_ interaction: Interaction, name: String) -> String {
        var parts = ["\(name)\n\n" + message(interaction.request, hiding: nil)]
        if let response = interaction.response {
            let head = head("\(response.status)", response.fields)
            let isEmpty = response.body.bytes.isEmpty
            parts.append(isEmpty ? head : head + "\n" + content(response.body, response.fields, hiding: nil))
        }
        return parts.joined(separator: "\n\n----\n\n") + "\n"
    }

    private func message(_ request: RecordedRequest, hiding recorded: RecordedRequest?) -> String {
        let head = head("\(request.method) \(request.url)", request.fields)
        guard !request.body.bytes.isEmpty else { return head }
        return head + "\n" + content(request.body, request.fields, hiding: recorded)
    }

    private func head(_ line: String, _ fields: HTTPFields) -> String {
        scanner.masked("\(line)\n" + fields.map { "\($0.name.rawName): \($0.value)\n" }.joined())
    }

    private func content(_ body: RecordedBody, _ fields: HTTPFields, hiding recorded: RecordedRequest?) -> String {
        let count = body.bytes.count
        guard fields[.contentEncoding] == nil, count <= Self.limit,
            !UnsearchedContent.includes(Array(body.bytes), mediaType: fields[.contentType]),
            let text = String(validating: body.bytes, as: UTF8.self)
        else { return "(\(count) bytes)" }
        // Where the recorded content has a placeholder, the live one may still have the secret.
        if let recorded, String(decoding: recorded.body.bytes, as: UTF8.self).contains(Pseudonym.erasedText) {
            return "(\(count) bytes, not shown, since a secret stands in the recorded ones)"
        }
        return scanner.masked(text)
    }
}
