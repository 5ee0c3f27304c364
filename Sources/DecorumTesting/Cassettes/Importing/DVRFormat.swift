import Decorum
import Foundation
import HTTPTypes

extension ImportedFormat {
    /// A cassette of DVR.
    public static let dvr = ImportedFormat("DVR")
}

package struct DVRFormat: ForeignFormat {
    package func recognizes(_ document: ForeignDocument) throws -> Bool {
        // Other recorders have a list of the same name, beside a version of their format.
        let root = try document.root
        return root["interactions"] != nil && root["version"] == nil
    }

    package func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try Self.read(document.root.list("interactions"), into: &draft)
        return .dvr
    }

    /// Reads interactions, as Vinyl keeps them too.
    package static func read(_ elements: [StoredNode], into draft: inout ImportDraft) throws {
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
        var interaction = Interaction(
            request: RecordedRequest(
                method: ImportDraft.method(request["method"]), url: url, fields: try draft.fields(request["headers"]),
                body: draft.typedBody(of: request)),
            recordedAt: node["recorded_at"]?.date)
        if let error = response["error"] {
            interaction.failure = draft.failure(error.text ?? "", at: error)
        } else {
            interaction.response = RecordedResponse(
                status: response["status"]?.integer ?? 200, fields: try draft.fields(response["headers"]),
                body: draft.typedBody(of: response))
        }
        return interaction
    }
}

extension ImportDraft {
    /// Reads a body whose encoding depends on the field `Content-Type` beside it, in exactly this spelling.
    fileprivate mutating func typedBody(of message: StoredNode) -> RecordedBody {
        guard let node = message["body"] else { return RecordedBody() }
        let type = message["headers"]?["Content-Type"]?.text ?? ""
        guard case .string(let text) = node.content else { return document(node) }
        if type.hasPrefix("text/") { return RecordedBody(Data(text.utf8)) }
        if type.hasPrefix("application/json") {
            // A person wrote it: it is the text of a document, and not a document that is a string.
            var scanner = JSONScanner(Array(text.utf8))
            let isDocument = (try? scanner.skipValue()) != nil && (try? scanner.expectEnd()) != nil
            return isDocument ? RecordedBody(Data(text.utf8)) : document(node)
        }
        return base64(node)
    }
}
