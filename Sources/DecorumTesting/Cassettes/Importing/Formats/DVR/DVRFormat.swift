import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

extension ImportedFormat {
    /// A cassette of DVR.
    public static let dvr = ImportedFormat("DVR")
}

/// Cassettes of DVR.
struct DVRFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root["interactions"] != nil }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try Self.read(document.root.required("interactions", as: "the list of interactions"), into: &draft)
        return .dvr
    }

    /// Reads a list of interactions, as Vinyl keeps them too.
    static func read(_ list: StoredNode, into draft: inout ImportDraft) throws {
        guard let elements = list.elements else { throw list.fault("a list of interactions is expected") }
        // The system decodes content before these tools see it.
        draft.hasDecodedContent = true
        for element in elements { draft.append(try interaction(element, &draft), at: element) }
    }

    private static func interaction(_ node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction {
        let request = try node.required("request", as: "the request")
        let response = try node.required("response", as: "the response")
        let url = try request.required("url", as: "the URL").text ?? ""
        let finalURL = response["url"]?.text
        if let finalURL, finalURL != url {
            draft.warn(
                .redirected, at: node, "The answer came from another URL, to which the request was redirected.")
        }
        let recordedRequest = RecordedRequest(
            method: ImportedMethod.method(request["method"]?.text), url: url,
            fields: try draft.fields(request["headers"]), body: draft.typedBody(of: request))
        let recordedAt = node["recorded_at"]?.text.flatMap(ImportedDate.date)
        if let error = response["error"] {
            let failure = draft.failure(error.text ?? "", at: error.location)
            return Interaction(request: recordedRequest, failure: failure, recordedAt: recordedAt)
        }
        return Interaction(
            request: recordedRequest,
            response: RecordedResponse(
                status: response["status"]?.integer ?? 200, fields: try draft.fields(response["headers"]),
                body: draft.typedBody(of: response)),
            recordedAt: recordedAt)
    }
}

extension ImportDraft {
    /// Reads a body whose encoding depends on the field `Content-Type` beside it, in exactly this spelling.
    fileprivate mutating func typedBody(of message: StoredNode) -> RecordedBody {
        guard let node = message["body"] else { return RecordedBody() }
        let type = message["headers"]?["Content-Type"]?.text ?? ""
        guard let text = node.text, case .string = node.value.content else { return document(node) }
        if type.hasPrefix("text/") { return RecordedBody(Data(text.utf8)) }
        if type.hasPrefix("application/json") {
            // A person wrote it: it is the text of a document, and not a document that is a string.
            if JSONScanner.isDocument(text) { return RecordedBody(Data(text.utf8)) }
            return document(node)
        }
        if let bytes = StorageEncoding.base64(text) { return RecordedBody(bytes) }
        warn(.storageEncoding, at: node, "The body should be base64 and is not; it was read as text.")
        return RecordedBody(Data(text.utf8))
    }
}

extension JSONScanner {
    /// Whether a text is a document, found without the memory that reading it takes.
    fileprivate static func isDocument(_ text: String) -> Bool {
        var scanner = JSONScanner(Array(text.utf8))
        return (try? scanner.skipValue()) != nil && (try? scanner.expectEnd()) != nil
    }
}
