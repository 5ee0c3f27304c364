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

/// Cassettes of vcrpy, including the shapes of its httpx support and bodies that were kept as values.
struct VCRPyFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let root = try document.root
        if let first = root.first, let request = first["request"] {
            guard request["host"] == nil, request.tag?.contains("vcr.request") != true else {
                throw first.fault("this is a cassette of vcrpy before 1.0, which is not read; vcrpy can migrate it")
            }
        }
        guard let first = root.firstInteraction else { return false }
        let response = first["response"]
        let isPython =
            first["request"]?["uri"] != nil || response?["status"]?["code"] != nil || response?["status_code"] != nil
        return isPython || root["version"] != nil && root["version"]?.integer != 2 && !first.isOfGo
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        for node in try document.root.list("interactions") {
            let request = try node.required("request", as: "the request")
            let response = try node.required("response", as: "the response")
            guard let url = (request["uri"] ?? request["url"])?.text else { throw request.fault("the URI is missing") }
            let status = response["status"]
            guard let code = (status?["code"] ?? response["status_code"] ?? status)?.integer else {
                throw response.fault("the status is missing")
            }
            let recordedRequest = RecordedRequest(
                method: ImportDraft.method(request["method"]), url: url, fields: try draft.fields(request["headers"]),
                body: draft.pythonBody(request["body"], value: request["parsed_body"]))
            let content = response["body"].flatMap { body in
                // The member that holds the body is null for an empty body.
                body["base64_string"] == nil && body.member("string") != nil ? body["string"] : body
            }
            let recordedResponse = RecordedResponse(
                status: code, reason: (status?["message"] ?? response["reason_phrase"])?.text ?? "",
                fields: try draft.fields(response["headers"]),
                body: draft.pythonBody(content ?? response["content"], value: response["parsed_body"]))
            draft.append(
                Interaction(
                    request: recordedRequest, response: recordedResponse, recordedAt: node["recorded_at"]?.date),
                at: node)
        }
        return .vcrpy
    }
}

extension ImportDraft {
    /// Reads a body that may be a text, bytes, or a Python object, of which only the payload is read.
    fileprivate mutating func pythonBody(_ node: StoredNode?, value: StoredNode?) -> RecordedBody {
        guard let node, node.text != "" else { return value.map { document($0) } ?? RecordedBody() }
        if node.text != nil { return bytes(node) }
        if let encoded = node["base64_string"] { return base64(encoded) }
        if node.tag?.hasPrefix("python/") == true {
            guard let parts = Self.payload(of: node), !parts.contains(where: { $0.text == nil }) else {
                warn(.missingBody, at: node, "The body is an object of Python without content that can be read.")
                return RecordedBody(exactness: .lossy)
            }
            var body = RecordedBody()
            for part in parts { body.bytes += bytes(part).bytes }
            return body
        }
        return node.members?.isEmpty == true ? RecordedBody() : document(node)
    }

    /// The values that a file object or an iterator had when it was written; nil if they are not known.
    private static func payload(of node: StoredNode) -> [StoredNode]? {
        // Python 2 keeps the text of a file object in separate members, the last writes apart from the others.
        if node.tag?.hasSuffix("StringIO.StringIO") == true {
            return [node["buf"]].compactMap(\.self) + (node["buflist"]?.elements ?? [])
        }
        // An iterator has its arguments alone, or beside its position, which is then its state.
        let arguments = node["args"]
        if arguments == nil, let state = node["state"] ?? node["_data"] {
            // The element after the content is the position of the reader.
            return state.text != nil ? [state] : state.elements?.first.map { [$0] }
        }
        guard let elements = (arguments ?? node).elements, let first = elements.first else { return nil }
        // The first of the arguments is the list of the items, or the arguments are the items themselves.
        let items = first.elements ?? elements
        return items.isEmpty ? nil : items
    }
}
#endif
