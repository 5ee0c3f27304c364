import Decorum
import Foundation
import HTTPTypes

extension ImportedFormat {
    /// A cassette of the first version of go-vcr.
    public static let goVCR1 = ImportedFormat("go-vcr 1")
    /// A cassette of go-vcr since its second version.
    public static let goVCR2 = ImportedFormat("go-vcr 2")
}

/// Cassettes of both versions of go-vcr.
struct GoVCRFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let root = try document.root
        guard let first = root.firstInteraction else { return false }
        return root["version"]?.integer == 2 || first.isOfGo && (root["name"] == nil || root["version"] != nil)
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        let root = try document.root
        let list = try root.required("interactions", as: "the list of interactions")
        guard let elements = list.elements else { throw list.fault("a list is expected") }
        for element in elements { draft.append(try Self.interaction(element, &draft), at: element) }
        return root["version"]?.integer == 2 ? .goVCR2 : .goVCR1
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
            status: code, reason: status.count > 1 ? String(status[1]) : "",
            fields: try draft.fields(response["headers"]),
            body: response["body"].map { draft.bytes($0) } ?? RecordedBody(),
            trailers: try draft.fields(response["trailer"]))
        // Go undoes only gzip by itself.
        if response["uncompressed"]?.text == "true" { recorded.coding = "gzip" }
        return Interaction(
            request: RecordedRequest(
                method: ImportedMethod.method(method), url: url.text ?? "",
                fields: try draft.fields(request["headers"]),
                body: request["body"].map { draft.bytes($0) } ?? RecordedBody(),
                trailers: try draft.fields(request["trailer"])),
            response: recorded)
    }
}

extension StoredNode {
    /// The first of the interactions, or null if there is none; nil if this is no file with interactions.
    var firstInteraction: StoredNode? {
        self["interactions"].map { $0.first ?? $0.at("[0]") }
    }

    /// Whether the response of an interaction has members that only go-vcr writes.
    var isOfGo: Bool {
        let response = self["response"]
        return response?["code"] != nil || response?["duration"] != nil || response?["proto"] != nil
    }
}
