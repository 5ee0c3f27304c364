import Decorum
import Foundation
import HTTPTypes

/// Reads the cassettes of both versions of go-vcr.
enum GoVCRImporter {
    static func read(_ root: StoredNode, into draft: inout ImportDraft) throws {
        let list = try root.required("interactions", as: "the list of interactions")
        guard let elements = list.elements else { throw list.fault("a list is expected") }
        for element in elements { draft.interactions.append(try interaction(element, &draft)) }
    }

    private static func interaction(_ node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction {
        let request = try node.required("request", as: "the request")
        let response = try node.required("response", as: "the response")
        let url = try request.required("url", as: "the URL")
        // The status is `200 OK`, and newer releases leave out empty values. An exchange without status and code had
        // failed.
        let status = (response["status"]?.text ?? "").split(separator: " ", maxSplits: 1)
        let code = response["code"]?.integer ?? status.first.flatMap { Int($0) } ?? 0
        let method = request["method"]?.text ?? ""
        var recorded = RecordedResponse(
            status: code, reason: status.count > 1 ? String(status[1]) : "", fields: draft.fields(response["headers"]),
            body: response["body"].map { draft.bytes($0) } ?? RecordedBody(),
            trailers: draft.fields(response["trailer"]))
        // Go undoes only gzip by itself.
        if response["uncompressed"]?.text == "true" { recorded.coding = "gzip" }
        return Interaction(
            request: RecordedRequest(
                method: ImportedMethod.method(method), url: url.text ?? "",
                fields: draft.fields(request["headers"]),
                body: request["body"].map { draft.bytes($0) } ?? RecordedBody(),
                trailers: draft.fields(request["trailer"])),
            response: recorded)
    }
}
