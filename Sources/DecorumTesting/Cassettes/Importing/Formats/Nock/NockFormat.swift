import Decorum
import Foundation
import HTTPTypes

extension ImportedFormat {
    /// A fixture of nock.
    public static let nock = ImportedFormat("nock")
}

/// Fixtures of nock.
struct NockFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        try document.root.first?["scope"] != nil
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        for element in try document.root.elements ?? [] {
            draft.append(try Self.interaction(element, &draft), at: element)
        }
        return .nock
    }

    private static func interaction(_ node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction {
        let scope = try node.required("scope", as: "the scope").text ?? ""
        let path = node["path"]?.text ?? "/"
        let status = node["status"]
        guard let code = status == nil ? 200 : status?.integer else { throw node.fault("the status is not a number") }
        let requestFields = try draft.fields(node["reqheaders"])
        let responseFields = try draft.rawFields(node["rawHeaders"] ?? node["headers"])
        return Interaction(
            request: RecordedRequest(
                method: ImportedMethod.method(node["method"]?.text), url: withoutDefaultPort(scope) + path,
                fields: requestFields,
                body: draft.nockRequestBody(node.member("body"), requestFields)),
            response: RecordedResponse(
                status: code, fields: responseFields,
                body: draft.nockBody(
                    node.member("response"), responseFields, isBinary: node["responseIsBinary"]?.text == "true")))
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
        if let text = node?.text, fields.hasBinaryType, let bytes = StorageEncoding.hexadecimal(text),
            String(validating: bytes, as: UTF8.self) == nil
        {
            return RecordedBody(bytes)
        }
        return nockBody(node, fields)
    }

    /// Reads a body: coded content is a list of hexadecimal chunks, bytes are one hexadecimal text, and JSON is a
    /// value.
    fileprivate mutating func nockBody(
        _ node: StoredNode?, _ fields: HTTPFields, isBinary: Bool = false
    ) -> RecordedBody {
        // A message without a body has an empty text, so null is a document, at least if the media type is JSON.
        guard let node, node.value.content != .null || fields.mediaType.contains("json") else { return RecordedBody() }
        let isCoded = fields.contains(.contentEncoding)
        if let text = node.text, case .string = node.value.content {
            guard isBinary || isCoded else { return RecordedBody(Data(text.utf8)) }
            if let bytes = StorageEncoding.hexadecimal(text) { return RecordedBody(bytes) }
            if isBinary, !text.isEmpty {
                warn(
                    .storageEncoding, at: node, "The body should be hexadecimal and is not; it was read as text.")
            }
            return RecordedBody(Data(text.utf8))
        }
        if isCoded || isBinary, let elements = node.elements {
            let chunks = elements.compactMap(\.text)
            if chunks.count == elements.count, let bytes = StorageEncoding.joined(chunks, StorageEncoding.hexadecimal) {
                return RecordedBody(bytes)
            }
        }
        return document(node)
    }

    /// Reads a list in which names and values alternate, or a mapping.
    fileprivate mutating func rawFields(_ node: StoredNode?) throws -> HTTPFields {
        guard let node, let elements = node.elements, elements.allSatisfy({ $0.text != nil }) else {
            return try fields(node)
        }
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

    /// Whether a media type is given, and it is not one of text.
    fileprivate var hasBinaryType: Bool {
        !mediaType.isEmpty && !TextType.includes(mediaType)
    }
}
