import Decorum
import Foundation
import HTTPTypes

/// Reads the cassettes of VCR for Ruby, and those of betamax, which have the same shape.
enum VCRImporter {
    static func read(_ root: StoredNode, into draft: inout ImportDraft) throws {
        let list = try root.required("http_interactions", as: "the list of interactions")
        guard let elements = list.elements else { throw list.fault("a list is expected") }
        for element in elements { draft.interactions.append(try interaction(element, &draft)) }
    }

    private static func interaction(_ node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction {
        let request = try node.required("request", as: "the request")
        let response = try node.required("response", as: "the response")
        let uri = try request.required("uri", as: "the URI")
        let method = (request["method"]?.text ?? "get").drop { $0 == ":" }.uppercased()
        let status = response["status"]
        // VCR for R uses the member name of betamax inside the member of VCR.
        let number = status?["code"] ?? status?["status_code"] ?? response["status_code"] ?? status
        guard let code = number?.integer else {
            throw response.fault("the status is missing")
        }
        var recorded = RecordedResponse(
            status: code, reason: status?["message"]?.text ?? "", fields: draft.fields(response["headers"]),
            body: draft.vcrBody(response["body"]))
        recorded.coding = response["adapter_metadata"]?["vcr_decompressed"]?.text
        return Interaction(
            request: RecordedRequest(
                method: method, url: uri.text ?? "", fields: draft.fields(request["headers"]),
                body: draft.vcrBody(request["body"])),
            response: recorded, recordedAt: node["recorded_at"]?.text.flatMap(ImportedDate.date))
    }
}

extension ImportDraft {
    /// Reads `{encoding, string}`, `{encoding, base64_string}`, or a plain text.
    fileprivate mutating func vcrBody(_ node: StoredNode?) -> RecordedBody {
        guard let node else { return RecordedBody() }
        if node.text != nil { return bytes(node) }
        if let encoded = node["base64_string"] { return base64(encoded) }
        guard let string = node["string"] else { return RecordedBody() }
        if string.text == nil { return document(string) }
        if string.isBinary { return base64(string) }
        let text = string.text ?? ""
        let name = node["encoding"]?.text ?? ""
        var body = encoded(text, Charset(named: name), named: name, at: string.place)
        if text.unicodeScalars.contains("\u{FFFD}") {
            warn(.damagedBody, at: string.place, "The body holds marks of characters that its recorder could not read.")
            body.exactness = .lossy
        }
        return body
    }
}
