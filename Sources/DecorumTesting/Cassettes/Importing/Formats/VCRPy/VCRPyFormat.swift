import Decorum
import Foundation
import HTTPTypes

extension ImportedFormat {
    /// A cassette of vcrpy.
    public static let vcrpy = ImportedFormat("vcrpy")
}

/// Cassettes of vcrpy, including the shapes of its httpx support and bodies that were kept as values.
struct VCRPyFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let root = try document.root
        if let first = root.first, let request = first["request"] {
            guard request["host"] == nil, request.value.tag?.contains("vcr.request") != true else {
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
        let list = try document.root.required("interactions", as: "the list of interactions")
        guard let elements = list.elements else { throw list.fault("a list is expected") }
        for element in elements { draft.append(try Self.interaction(element, &draft), at: element) }
        return .vcrpy
    }

    private static func interaction(_ node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction {
        let request = try node.required("request", as: "the request")
        let response = try node.required("response", as: "the response")
        guard let url = (request["uri"] ?? request["url"])?.text else { throw request.fault("the URI is missing") }
        let status = response["status"]
        guard let code = (status?["code"] ?? response["status_code"] ?? status)?.integer else {
            throw response.fault("the status is missing")
        }
        return Interaction(
            request: RecordedRequest(
                method: ImportedMethod.method(request["method"]?.text), url: url,
                fields: try draft.fields(request["headers"]),
                body: draft.pythonBody(request["body"], value: request["parsed_body"])),
            response: RecordedResponse(
                status: code, reason: (status?["message"] ?? response["reason_phrase"])?.text ?? "",
                fields: try draft.fields(response["headers"]),
                body: draft.pythonBody(
                    response["body"].flatMap(content) ?? response["content"],
                    value: response["parsed_body"])),
            recordedAt: node["recorded_at"]?.text.flatMap(ImportedDate.date))
    }

    /// The member that holds a body; nil if it is null, as for an empty body.
    private static func content(_ body: StoredNode) -> StoredNode? {
        guard body["base64_string"] == nil, body.member("string") != nil else { return body }
        return body["string"]
    }
}

extension ImportDraft {
    /// Reads a body that may be a text, bytes, or a Python object, of which only the payload is read.
    fileprivate mutating func pythonBody(_ node: StoredNode?, value: StoredNode?) -> RecordedBody {
        guard let node, node.text != "" else { return value.map { document($0) } ?? RecordedBody() }
        if node.text != nil { return bytes(node) }
        if let encoded = node["base64_string"] { return base64(encoded) }
        if let tag = node.value.tag, tag.hasPrefix("python/") {
            guard let parts = payload(of: node) else {
                warn(.missingBody, at: node, "The body is an object of Python without content that can be read.")
                return RecordedBody(exactness: .lossy)
            }
            var body = RecordedBody()
            for part in parts { body.bytes += bytes(part).bytes }
            return body
        }
        if node.members?.isEmpty == true { return RecordedBody() }
        return document(node)
    }

    /// The scalars that a file object or an iterator had when it was written.
    private func payload(of node: StoredNode) -> [StoredNode]? {
        // Python 2 keeps the text of a file object in separate members, the last writes apart from the others.
        if node.value.tag?.hasSuffix("StringIO.StringIO") == true {
            let texts = [node["buf"]].compactMap(\.self) + (node["buflist"]?.elements ?? [])
            return texts.contains { $0.text == nil } ? nil : texts
        }
        // An iterator has its arguments alone, or beside its position, which is then its state.
        let arguments = node["args"]
        if arguments == nil, let state = node["state"] ?? node["_data"] { return payload(ofState: state) }
        guard let elements = (arguments ?? node).elements, let first = elements.first else { return nil }
        // The first of the arguments is the list of the items, or the arguments are the items themselves.
        let items = first.elements ?? (first.text != nil ? elements : [])
        return items.isEmpty || items.contains { $0.text == nil } ? nil : items
    }

    private func payload(ofState state: StoredNode) -> [StoredNode]? {
        if state.text != nil { return [state] }
        // The element after the content is the position of the reader.
        return state.elements?.first.flatMap { $0.text == nil ? nil : [$0] }
    }
}
