#if CassetteImport
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

/// Cassettes of VCR for Ruby, and of the tools that share their shape, such as betamax.
struct VCRFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let root = try document.root
        if root["http_interactions"] != nil { return true }
        guard let first = root.first else { return false }
        if first.tag?.contains("VCR::") == true || first["request"]?["uri"] != nil {
            throw first.fault("this is a cassette of VCR 1, which is not read; record it with a newer VCR first")
        }
        if first["request"] != nil, first["response"]?["status"]?.members != nil {
            throw first.fault("this is a cassette of php-vcr, which is not read")
        }
        return false
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        let root = try document.root
        for element in try root.list("http_interactions") {
            draft.append(try interaction(element, &draft), at: element)
        }
        draft.warnOfPlaceholders()
        draft.hasNamedPlaceholders = true
        return root["recorded_with"]?.text?.lowercased().hasPrefix("betamax") == true ? .betamax : .vcr
    }

    private func interaction(_ node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction {
        let request = try node.required("request", as: "the request")
        let response = try node.required("response", as: "the response")
        let status = response["status"]
        // VCR for R uses the member name of betamax inside the member of VCR.
        let number = status?["code"] ?? status?["status_code"] ?? response["status_code"] ?? status
        guard let code = number?.integer else { throw response.fault("the status is missing") }
        let recordedRequest = RecordedRequest(
            method: (request["method"]?.text ?? "get").drop { $0 == ":" }.uppercased(),
            url: try request.required("uri", as: "the URI").text ?? "", fields: try draft.fields(request["headers"]),
            body: try draft.vcrBody(request["body"]))
        var recorded = RecordedResponse(
            status: code, reason: status?["message"]?.text ?? "", fields: try draft.fields(response["headers"]),
            body: try draft.vcrBody(response["body"]))
        recorded.coding = response["adapter_metadata"]?["vcr_decompressed"]?.text
        return Interaction(request: recordedRequest, response: recorded, recordedAt: node["recorded_at"]?.date)
    }
}

extension ImportDraft {
    /// Reads `{encoding, string}`, `{encoding, base64_string}`, or a plain text.
    fileprivate mutating func vcrBody(_ node: StoredNode?) throws(CassetteImportError) -> RecordedBody {
        guard let node else { return RecordedBody() }
        if node.text != nil { return bytes(node) }
        if let encoded = node["base64_string"] { return base64(encoded) }
        guard let string = node["string"] else { return RecordedBody() }
        guard let text = string.text else { return document(string) }
        // VCR for R writes `yes` in YAML, and a Boolean in JSON.
        if let file = node["file"]?.text, file == "yes" || file == "true" { return try writtenFile(string) }
        if string.isBinary { return base64(string) }
        let name = node["encoding"]?.text ?? ""
        var body = encoded(text, Charset(named: name), named: name, at: string)
        if text.unicodeScalars.contains("\u{FFFD}") {
            warn(.damagedBody, at: string, "The body holds marks of characters that its recorder could not read.")
            body.exactness = .lossy
        }
        return body
    }

    /// Warns of names and templates that VCR and betamax would replace before they play an exchange.
    fileprivate mutating func warnOfPlaceholders() {
        var seen: Set<String> = []
        for (index, interaction) in interactions.enumerated() {
            let response = interaction.response
            let values = interaction.request.fields.map(\.value) + (response?.fields.map(\.value) ?? [])
            let texts = ([interaction.request.url] + values).map { Array($0.utf8) }
            let bodies = [interaction.request.body.bytes, response?.body.bytes ?? Data()].map { Array($0) }
            let found =
                texts.flatMap { Placeholder.all(in: $0) }
                + bodies.flatMap { Placeholder.all(in: $0).filter(\.isCertain) }
            for placeholder in found where seen.insert(placeholder.name).inserted {
                warn(.placeholder, ofInteraction: index, "\(placeholder.name) stands in place of a value.")
            }
        }
    }
}
#endif
