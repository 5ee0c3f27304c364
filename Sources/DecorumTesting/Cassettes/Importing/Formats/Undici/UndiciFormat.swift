import Decorum
import Foundation
import HTTPTypes

extension ImportedFormat {
    /// A snapshot of undici.
    public static let undici = ImportedFormat("undici")
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
                method: ImportedMethod.method(request["method"]?.text),
                url: try request.required("url", as: "the URL").text ?? "",
                fields: try draft.fields(request["headers"]),
                body: draft.stringBody(request["body"]))
            let recordedAt = snapshot["timestamp"]?.text.flatMap(ImportedDate.date)
            for response in responses {
                draft.append(
                    Interaction(
                        request: recordedRequest, response: try Self.response(response, &draft), recordedAt: recordedAt),
                    at: response)
            }
        }
        return .undici
    }

    private static func response(_ node: StoredNode, _ draft: inout ImportDraft) throws -> RecordedResponse {
        let status = try node.required("statusCode", as: "the status")
        guard let code = status.integer else { throw status.fault("the status is not a number") }
        return RecordedResponse(
            status: code, fields: try draft.splittingCookies(draft.fields(node["headers"]), at: node),
            body: node["body"].map { draft.base64($0) } ?? RecordedBody(), trailers: try draft.fields(node["trailers"]))
    }
}

extension ImportDraft {
    fileprivate mutating func stringBody(_ node: StoredNode?) -> RecordedBody {
        guard let node, let text = node.text else { return RecordedBody() }
        var body = RecordedBody(Data(text.utf8))
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false)
        if numbers.count > 1 && numbers.allSatisfy({ UInt8($0) != nil }) || text == "[object Object]" {
            warn(.damagedBody, at: node, "The body seems to be the text of an object, not its bytes.")
            body.exactness = .lossy
        }
        return body
    }
}
