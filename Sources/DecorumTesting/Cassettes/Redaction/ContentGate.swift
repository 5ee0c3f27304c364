import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Checks content before it is written as base64 or to a file, or if nothing could be replaced in it.
///
/// The content is searched in its original form.
struct ContentGate {
    let scanner: SecretScanner
    let redactor: CassetteRedactor
    let file: String

    /// Throws if a message of an interaction still holds a secret.
    func check(_ interaction: Interaction) throws {
        try check(interaction.request.body.bytes, interaction.request.fields)
        if let response = interaction.response { try check(response.body.bytes, response.fields) }

        var decoded = interaction
        decoded.decodeContent()
        let exchange = "\(decoded.request.method) \(decoded.request.url)"
        try checkKind(decoded.request.body.bytes, decoded.request.fields, exchange)
        if let response = decoded.response {
            try checkKind(response.body.bytes, response.fields, "the answer to " + exchange)
        }
        if decoded.request.body != interaction.request.body {
            try checkUnredacted(decoded.request.body.bytes, decoded.request.fields)
        }
        if let response = decoded.response, response.body != interaction.response?.body {
            try checkUnredacted(response.body.bytes, response.fields)
        }
    }

    private func checkKind(_ content: Data, _ fields: HTTPFields, _ exchange: String) throws {
        guard UnsearchedContent.includes(Array(content), mediaType: fields[.contentType]) else { return }
        try scanner.checkUnsearched(file: file, exchange: exchange)
    }

    private func check(_ content: Data, _ fields: HTTPFields) throws {
        let bytes = Array(content)
        try scanner.check(content, file: file, known: redactor.knownSecrets(in: bytes))
        // In UTF-16 and UTF-32, ASCII is the same except for NULs and the byte order mark.
        if UTF8Text.isWide(bytes) { try checkUnredacted(Data(bytes.filter { $0 != 0 && $0 < 0xFE }), fields) }
    }

    /// Checks the readable form of content that is written unchanged.
    private func checkUnredacted(_ content: Data, _ fields: HTTPFields) throws {
        try scanner.check(content, file: file, known: redactor.knownSecrets(in: Array(content)))
        if !redactor.isRedacted(content, mediaType: fields[.contentType]) {
            try scanner.check(content, file: file, known: [0..<content.count])
        }
    }
}
