import Decorum
import Foundation
import HTTPTypes

extension ImportedFormat {
    /// A cassette of VCR for Ruby, or of one of the tools that share its shape.
    public static let vcr = ImportedFormat("VCR")
}

/// Cassettes of VCR for Ruby, and of the tools that share their shape.
struct VCRFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let root = try document.root
        if root["http_interactions"] != nil { return true }
        guard let first = root.first else { return false }
        if first.value.tag?.contains("VCR::") == true || first["request"]?["uri"] != nil {
            throw first.fault("this is a cassette of VCR 1, which is not read; record it with a newer VCR first")
        }
        if first["request"] != nil, first["response"]?["status"]?.members != nil {
            throw first.fault("this is a cassette of php-vcr, which is not read")
        }
        return false
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try Self.read(document.root, into: &draft)
        return .vcr
    }

    /// Reads the interactions in the shape that VCR and betamax share.
    static func read(_ root: StoredNode, into draft: inout ImportDraft) throws {
        let list = try root.required("http_interactions", as: "the list of interactions")
        guard let elements = list.elements else { throw list.fault("a list is expected") }
        for element in elements { draft.append(try interaction(element, &draft), at: element) }
        draft.warnOfPlaceholders()
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
            status: code, reason: status?["message"]?.text ?? "", fields: try draft.fields(response["headers"]),
            body: try draft.vcrBody(response["body"]))
        recorded.coding = response["adapter_metadata"]?["vcr_decompressed"]?.text
        return Interaction(
            request: RecordedRequest(
                method: method, url: uri.text ?? "", fields: try draft.fields(request["headers"]),
                body: try draft.vcrBody(request["body"])),
            response: recorded, recordedAt: node["recorded_at"]?.text.flatMap(ImportedDate.date))
    }
}

extension ImportDraft {
    /// Reads `{encoding, string}`, `{encoding, base64_string}`, or a plain text.
    fileprivate mutating func vcrBody(_ node: StoredNode?) throws(ImportFault) -> RecordedBody {
        guard let node else { return RecordedBody() }
        if node.text != nil { return bytes(node) }
        if let encoded = node["base64_string"] { return base64(encoded) }
        guard let string = node["string"] else { return RecordedBody() }
        if string.text == nil { return document(string) }
        // VCR for R writes `yes` in YAML, and a Boolean in JSON.
        if let file = node["file"]?.text, file == "yes" || file == "true" { return try writtenFile(string) }
        if string.isBinary { return base64(string) }
        let text = string.text ?? ""
        let name = node["encoding"]?.text ?? ""
        var body = encoded(text, Charset(named: name), named: name, at: string)
        if text.unicodeScalars.contains("\u{FFFD}") {
            warn(.damagedBody, at: string, "The body holds marks of characters that its recorder could not read.")
            body.exactness = .lossy
        }
        return body
    }
}
