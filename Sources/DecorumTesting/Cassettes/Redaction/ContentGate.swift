import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The gate before content is written that stands in a cassette as base64 or in a file, or in which nothing could be
/// replaced: it is looked through as what it is.
struct ContentGate {
    let scanner: SecretScanner
    let redactor: CassetteRedactor
    let file: String

    /// Throws where a message of an interaction still holds a secret.
    func check(_ interaction: Interaction) throws {
        try check(interaction.request.body.bytes, interaction.request.fields)
        if let response = interaction.response { try check(response.body.bytes, response.fields) }

        var decoded = interaction
        decoded.decodeContent()
        if decoded.request.body != interaction.request.body {
            try checkUnredacted(decoded.request.body.bytes, decoded.request.fields)
        }
        if let response = decoded.response, response.body != interaction.response?.body {
            try checkUnredacted(response.body.bytes, response.fields)
        }
    }

    private func check(_ content: Data, _ fields: HTTPFields) throws {
        let bytes = Array(content)
        try scanner.check(content, file: file, known: redactor.knownSecrets(in: bytes))
        // In UTF-16 and UTF-32, ASCII is the same but for NULs and the mark at the beginning.
        if UTF8Text.isWide(bytes) { try checkUnredacted(Data(bytes.filter { $0 != 0 && $0 < 0xFE }), fields) }
    }

    /// Checks what content reads as which is written as it came.
    private func checkUnredacted(_ content: Data, _ fields: HTTPFields) throws {
        try scanner.check(content, file: file, known: redactor.knownSecrets(in: Array(content)))
        if !redactor.isRedacted(content, mediaType: fields[.contentType]) {
            try scanner.check(content, file: file, known: [0..<content.count])
        }
    }
}
