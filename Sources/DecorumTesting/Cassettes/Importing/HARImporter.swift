import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Reads HTTP archives, including the variants of Polly.js, Replay and Playwright.
struct HARImporter {
    /// Whether text is never transcoded, because the tool uses base64 for all bytes that are not UTF-8.
    let keepsBytes: Bool
    let isPolly: Bool
    let isReplay: Bool
    /// Whether one value of `Set-Cookie` holds all of them, joined.
    private let joinsCookies: Bool

    private init(_ format: ImportedCassette.Format, _ archive: HAR) {
        isPolly = format == .polly
        isReplay = format == .replay
        joinsCookies = archive.creator.name.hasPrefix("WebKit")
        keepsBytes = isPolly || isReplay || archive.creator.name == HAR().creator.name
    }

    static func read(_ root: StoredNode, as format: ImportedCassette.Format, into draft: inout ImportDraft) throws {
        let archive: HAR
        do {
            archive = try HAR(root.value.json)
        } catch {
            throw ImportFault(place: error.path, reason: error.reason)
        }
        let importer = Self(format, archive)
        for (index, entry) in archive.entries.enumerated() {
            var interaction = try importer.interaction(entry, at: "$.log.entries[\(index)]", &draft)
            interaction.restore(from: entry)
            draft.interactions.append(interaction)
        }
    }

    private func interaction(_ entry: HAR.Entry, at place: String, _ draft: inout ImportDraft) throws -> Interaction {
        if entry.custom.contains(where: { $0.name == "_webSocketMessages" }) {
            draft.warn(.leftOut, at: place, "The messages of a WebSocket were left out.")
        }
        let requestFields = fields(entry.request.headers, at: place + ".request.headers", &draft)
        let request = RecordedRequest(
            method: ImportedMethod.method(entry.request.method), url: entry.request.url, fields: requestFields,
            body: try requestBody(entry.request, requestFields, at: place + ".request.postData", &draft))
        let text = entry.response.failure.flatMap { $0.isEmpty ? nil : $0 }
        guard entry.response.status > 0 else {
            let failure = draft.failure(text ?? entry.response.statusText, at: place + ".response")
            return Interaction(request: request, failure: failure, recordedAt: entry.startedAt)
        }
        let fields = fields(entry.response.headers, at: place + ".response.headers", &draft)
        let response = RecordedResponse(
            status: entry.response.status, reason: entry.response.statusText, fields: fields,
            body: try responseBody(entry, fields, at: place + ".response.content", &draft))
        var failure = text.map { draft.failure($0, at: place + ".response") }
        failure?.stage = .body
        return Interaction(request: request, response: response, failure: failure, recordedAt: entry.startedAt)
    }

    private func fields(_ pairs: [HAR.Field], at place: String, _ draft: inout ImportDraft) -> HTTPFields {
        var fields = HTTPFields()
        for pair in pairs {
            // A field cannot hold a line break: some tools join several fields with it.
            let lines = pair.value.split(whereSeparator: \.isNewline)
            for line in lines.isEmpty ? [""] : lines { draft.append(pair.name, String(line), at: place, to: &fields) }
        }
        return joinsCookies ? draft.splittingCookies(fields, at: place) : fields
    }
}
