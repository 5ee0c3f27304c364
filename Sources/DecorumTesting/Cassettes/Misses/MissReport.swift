import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// A missed request and the nearest recorded one in full, as text for the report of a test.
///
/// Both are redacted before; texts that look like secrets are masked here.
struct MissReport {
    /// The longest content that is shown, in bytes.
    private static let limit = 64 << 10

    let scanner: SecretScanner

    /// The text of both; `nearest` is redacted as for matching, and `shown` is the same request with the placeholders of the file.
    func text(
        _ live: RecordedRequest, number: Int, nearest: RecordedRequest?, shown: RecordedRequest?, name: String
    ) -> String {
        var parts = ["request \(number)\n\n" + message(live, hiding: nearest)]
        if let shown { parts.append("\(name)\n\n" + message(shown, hiding: nil)) }
        return parts.joined(separator: "\n\n----\n\n") + "\n"
    }

    private func message(_ request: RecordedRequest, hiding recorded: RecordedRequest?) -> String {
        let fields = request.fields.map { "\($0.name.rawName): \($0.value)\n" }.joined()
        let head = scanner.masked("\(request.method) \(request.url)\n\(fields)")
        return request.body.bytes.isEmpty ? head : head + "\n" + content(request, hiding: recorded)
    }

    private func content(_ request: RecordedRequest, hiding recorded: RecordedRequest?) -> String {
        let count = request.body.bytes.count
        guard request.fields[.contentEncoding] == nil, count <= Self.limit,
            let text = String(validating: request.body.bytes, as: UTF8.self)
        else { return "(\(count) bytes)" }
        // Where the recorded content has a placeholder, the live one may still have the secret.
        if let recorded, String(decoding: recorded.body.bytes, as: UTF8.self).contains(Pseudonym.erasedText) {
            return "(\(count) bytes, not shown, since a secret stands in the recorded ones)"
        }
        return scanner.masked(text)
    }
}
