#if CassetteImport
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

struct NockFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root.first?["scope"] != nil }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        for node in try document.root.elements ?? [] {
            let scope = try node.required("scope", as: "the scope").text ?? ""
            let status = node["status"]
            guard let code = status == nil ? 200 : status?.integer else {
                throw node.fault("the status is not a number")
            }
            let requestFields = try draft.fields(node["reqheaders"])
            let responseFields = try draft.rawFields(node["rawHeaders"] ?? node["headers"])
            let request = RecordedRequest(
                method: ImportDraft.method(node["method"]),
                url: Self.withoutDefaultPort(scope) + (node["path"]?.text ?? "/"), fields: requestFields,
                body: draft.nockRequestBody(node.member("body"), requestFields))
            let isBinary = node["responseIsBinary"]?.text == "true"
            let response = RecordedResponse(
                status: code, fields: responseFields,
                body: draft.nockBody(node.member("response"), responseFields, isBinary: isBinary))
            draft.append(Interaction(request: request, response: response), at: node)
        }
        return .nock
    }

    private static func withoutDefaultPort(_ scope: String) -> String {
        let scope = scope.hasSuffix("/") ? String(scope.dropLast()) : scope
        if scope.hasPrefix("https://"), scope.hasSuffix(":443") { return String(scope.dropLast(4)) }
        if scope.hasPrefix("http://"), scope.hasSuffix(":80") { return String(scope.dropLast(3)) }
        return scope
    }
}

extension ImportDraft {
    /// Reads the content of a request, which nock writes in hexadecimal without a mark if it is not UTF-8.
    fileprivate mutating func nockRequestBody(_ node: StoredNode?, _ fields: HTTPFields) -> RecordedBody {
        let isBinary = !fields.mediaType.isEmpty && !StorageEncoding.isText(fields.mediaType)
        if isBinary, let bytes = node?.text.flatMap(StorageEncoding.hexadecimal),
            String(validating: bytes, as: UTF8.self) == nil
        {
            return RecordedBody(bytes)
        }
        return nockBody(node, fields, isBinary: false)
    }

    /// Reads a body: coded content is a list of hexadecimal chunks, bytes are one hexadecimal text, and JSON is a
    /// value.
    fileprivate mutating func nockBody(_ node: StoredNode?, _ fields: HTTPFields, isBinary: Bool) -> RecordedBody {
        guard let node else { return RecordedBody() }
        let isCoded = fields.contains(.contentEncoding)
        switch node.content {
        case .string(let text):
            if isBinary, !text.isEmpty { return decoded(text, StorageEncoding.hexadecimal, "hexadecimal", at: node) }
            return RecordedBody((isCoded ? StorageEncoding.hexadecimal(text) : nil) ?? Data(text.utf8))
        case .null where !fields.mediaType.contains("json"):
            // A message without a body has an empty text, so null is a document, at least if the media type is JSON.
            return RecordedBody()
        case .list(let elements) where isCoded || isBinary:
            let chunks = elements.compactMap(\.text)
            if chunks.count == elements.count, let bytes = StorageEncoding.joined(chunks, StorageEncoding.hexadecimal) {
                return RecordedBody(bytes)
            }
            return document(node)
        case .null, .number, .literal, .list, .map: return document(node)
        }
    }

    /// Reads a list in which names and values alternate, or a mapping.
    fileprivate mutating func rawFields(_ node: StoredNode?) throws -> HTTPFields {
        guard let elements = node?.elements, elements.allSatisfy({ $0.text != nil }) else { return try fields(node) }
        var fields = HTTPFields()
        for index in stride(from: 0, to: elements.count - 1, by: 2) {
            let (name, value) = (elements[index].text ?? "", elements[index + 1].text ?? "")
            try append(name, value, at: elements[index], to: &fields)
        }
        return fields
    }
}

extension HTTPFields {
    fileprivate var mediaType: String { first { $0.name == .contentType }?.value.lowercased() ?? "" }
}

/// Snapshots of undici: the current list or the older object.
struct UndiciFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let root = try document.root
        if let first = root.first { return first["snapshot"] != nil }
        guard root["log"] == nil, root["interactions"] == nil, let first = root.members?.first?.node else {
            return false
        }
        return first["snapshot"] != nil || first["request"] != nil
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        let root = try document.root
        for element in root.elements ?? root.members?.map(\.node) ?? [] {
            let snapshot = element["snapshot"] ?? element
            let request = try snapshot.required("request", as: "the request")
            let responses = snapshot["responses"]?.elements ?? snapshot["response"].map { [$0] } ?? []
            guard !responses.isEmpty else { throw snapshot.fault("the response is missing") }
            let recordedRequest = RecordedRequest(
                method: ImportDraft.method(request["method"]),
                url: try request.required("url", as: "the URL").text ?? "",
                fields: try draft.fields(request["headers"]), body: draft.undiciBody(request["body"]))
            for response in responses {
                let status = try response.required("statusCode", as: "the status")
                guard let code = status.integer else { throw status.fault("the status is not a number") }
                let recorded = RecordedResponse(
                    status: code, fields: try draft.splittingCookies(draft.fields(response["headers"]), at: response),
                    body: response["body"].map { draft.base64($0) } ?? RecordedBody(),
                    trailers: try draft.fields(response["trailers"]))
                draft.append(
                    Interaction(request: recordedRequest, response: recorded, recordedAt: snapshot["timestamp"]?.date),
                    at: response)
            }
        }
        return .undici
    }
}

extension ImportDraft {
    fileprivate mutating func undiciBody(_ node: StoredNode?) -> RecordedBody {
        guard let node, let text = node.text else { return RecordedBody() }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false)
        let isDamaged = numbers.count > 1 && numbers.allSatisfy { UInt8($0) != nil } || text == "[object Object]"
        if isDamaged { warn(.damagedBody, at: node, "The body seems to be the text of an object, not its bytes.") }
        return RecordedBody(Data(text.utf8), exactness: isDamaged ? .lossy : .exact)
    }
}
#endif
