import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// Reads HTTP archives, including the variants of Polly.js, Replay and Playwright.
struct HARImporter {
    /// The tools that deviate from the format in how they store content.
    enum Dialect {
        case standard
        case polly
        case replay
    }

    /// Whether text is never transcoded, because the tool uses base64 for all bytes that are not UTF-8.
    let keepsBytes: Bool
    let isPolly: Bool
    let isReplay: Bool
    /// Whether one value of `Set-Cookie` holds all of them, joined.
    private let joinsCookies: Bool

    private init(_ dialect: Dialect, _ archive: HAR) {
        isPolly = dialect == .polly
        isReplay = dialect == .replay
        joinsCookies = archive.creator.name.hasPrefix("WebKit")
        keepsBytes = isPolly || isReplay || archive.isOurs
    }

    static func read(_ root: StoredNode, as dialect: Dialect = .standard, into draft: inout ImportDraft) throws {
        let archive: HAR
        do {
            archive = try HAR(root.value.json)
        } catch {
            throw root.at(String((error.path ?? "$").dropFirst())).fault(error.reason)
        }
        // HAR demands content without its coding. Polly.js keeps coded content as a list of chunks, and the archives of
        // this package have the content that went through the connection.
        draft.hasDecodedContent = dialect != .polly && !archive.isOurs
        let importer = Self(dialect, archive)
        for (index, entry) in archive.entries.enumerated() {
            let node = root.at(".log.entries[\(index)]")
            var interaction = try importer.interaction(entry, at: node, &draft)
            try interaction.restore(from: entry, at: node, within: &draft.budget)
            draft.append(interaction, at: node)
        }
    }

    private func interaction(_ entry: HAR.Entry, at node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction
    {
        if entry.custom.contains(where: { $0.name == "_webSocketMessages" }) {
            draft.warn(.leftOut, at: node, "The messages of a WebSocket were left out.")
        }
        let requestFields = try fields(entry.request.headers, at: node.at(".request.headers"), &draft)
        let request = RecordedRequest(
            method: ImportedMethod.method(entry.request.method), url: entry.request.url, fields: requestFields,
            body: try requestBody(entry.request, requestFields, at: node.at(".request.postData"), &draft))
        let text = entry.response.failure.flatMap { $0.isEmpty ? nil : $0 }
        guard entry.response.status > 0 else {
            let failure = draft.failure(text ?? entry.response.statusText, at: node.at(".response").location)
            return Interaction(request: request, failure: failure, recordedAt: entry.startedAt)
        }
        let fields = try fields(entry.response.headers, at: node.at(".response.headers"), &draft)
        let response = RecordedResponse(
            status: entry.response.status, reason: entry.response.statusText, fields: fields,
            body: try responseBody(entry, fields, at: node.at(".response.content"), &draft))
        var failure = text.map { draft.failure($0, at: node.at(".response").location) }
        failure?.stage = .body
        return Interaction(request: request, response: response, failure: failure, recordedAt: entry.startedAt)
    }

    private func fields(_ pairs: [HAR.Field], at node: StoredNode, _ draft: inout ImportDraft) throws -> HTTPFields {
        var fields = HTTPFields()
        for pair in pairs {
            // A field cannot hold a line break: some tools join several fields with it.
            let lines = pair.value.split(whereSeparator: \.isNewline)
            for line in lines.isEmpty ? [""] : lines {
                try draft.append(pair.name, String(line), at: node, to: &fields)
            }
        }
        return joinsCookies ? try draft.splittingCookies(fields, at: node) : fields
    }
}

extension HAR {
    /// Whether this package wrote the archive.
    fileprivate var isOurs: Bool { creator.name == HAR().creator.name }
}
