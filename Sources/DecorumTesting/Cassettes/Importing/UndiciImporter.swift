import Decorum
import Foundation
import HTTPTypes

/// Reads the snapshots of undici: the current list or the older object.
enum UndiciImporter {
    static func read(_ root: StoredNode, into draft: inout ImportDraft) throws {
        for element in root.elements ?? root.members?.map(\.node) ?? [] {
            let snapshot = element["snapshot"] ?? element
            let request = try snapshot.required("request", as: "the request")
            let responses = snapshot["responses"]?.elements ?? snapshot["response"].map { [$0] } ?? []
            guard !responses.isEmpty else { throw snapshot.fault("the response is missing") }
            let recordedRequest = RecordedRequest(
                method: ImportedMethod.method(request["method"]?.text),
                url: try request.required("url", as: "the URL").text ?? "", fields: draft.fields(request["headers"]),
                body: draft.stringBody(request["body"]))
            let recordedAt = snapshot["timestamp"]?.text.flatMap(ImportedDate.date)
            for response in responses {
                draft.interactions.append(
                    Interaction(
                        request: recordedRequest, response: try self.response(response, &draft), recordedAt: recordedAt)
                )
            }
        }
    }

    private static func response(_ node: StoredNode, _ draft: inout ImportDraft) throws -> RecordedResponse {
        let status = try node.required("statusCode", as: "the status")
        guard let code = status.integer else { throw status.fault("the status is not a number") }
        return RecordedResponse(
            status: code, fields: draft.splittingCookies(draft.fields(node["headers"]), at: node.place),
            body: node["body"].map { draft.base64($0) } ?? RecordedBody(), trailers: draft.fields(node["trailers"]))
    }
}

extension ImportDraft {
    fileprivate mutating func stringBody(_ node: StoredNode?) -> RecordedBody {
        guard let node, let text = node.text else { return RecordedBody() }
        var body = RecordedBody(Data(text.utf8))
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false)
        if numbers.count > 1 && numbers.allSatisfy({ UInt8($0) != nil }) || text == "[object Object]" {
            warn(.damagedBody, at: node.place, "The body seems to be the text of an object, not its bytes.")
            body.exactness = .lossy
        }
        return body
    }
}
