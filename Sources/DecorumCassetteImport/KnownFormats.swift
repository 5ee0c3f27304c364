#if CassetteImport
import Decorum
public import DecorumTesting
import Foundation
import HTTPTypes

extension Array where Element == any ForeignFormat {
    /// The formats of VCR, betamax, vcrpy, go-vcr, nock, undici and Vinyl, and archives of Polly.js as YAML.
    ///
    /// `ImportedCassette(contentsOf: file, formats: .known)` reads a file; for the cassettes of tests, set
    /// `rules.formats = .known`.
    public static var known: [any ForeignFormat] {
        [VCRPyFormat(), VCRFormat(), GoVCRFormat(), UndiciFormat(), NockFormat(), VinylFormat()]
    }
}

extension ImportedFormat {
    /// A cassette of VCR for Ruby, or of one of the tools that share its shape.
    public static let vcr = ImportedFormat("VCR")
    /// A cassette of betamax.
    public static let betamax = ImportedFormat("betamax")
    /// A cassette of vcrpy.
    public static let vcrpy = ImportedFormat("vcrpy")
    /// A cassette of the first version of go-vcr.
    public static let goVCR1 = ImportedFormat("go-vcr 1")
    /// A cassette of go-vcr since its second version.
    public static let goVCR2 = ImportedFormat("go-vcr 2")
    /// A fixture of nock.
    public static let nock = ImportedFormat("nock")
    /// A snapshot of undici.
    public static let undici = ImportedFormat("undici")
    /// A recording of Vinyl.
    public static let vinyl = ImportedFormat("Vinyl")
}

/// Recordings of Vinyl, which are lists of the interactions that DVR writes.
struct VinylFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root.first?["request"] != nil }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
        try DVRFormat.read(document.root.elements ?? [], into: &draft)
        return .vinyl
    }
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
        for element in try root.list("interactions") { draft.append(try interaction(element, &draft), at: element) }
        return root["version"]?.integer == 2 ? .goVCR2 : .goVCR1
    }

    private func interaction(_ node: StoredNode, _ draft: inout ImportDraft) throws -> Interaction {
        let request = try node.required("request", as: "the request")
        let response = try node.required("response", as: "the response")
        // The status is `200 OK`, and newer releases leave out empty values. An exchange without status and code had
        // failed.
        let status = (response["status"]?.text ?? "").split(separator: " ", maxSplits: 1)
        var recorded = RecordedResponse(
            status: response["code"]?.integer ?? status.first.flatMap { Int($0) } ?? 0,
            reason: status.count > 1 ? String(status[1]) : "", fields: try draft.fields(response["headers"]),
            body: draft.bytes(response["body"]), trailers: try draft.fields(response["trailer"]))
        // Go undoes only gzip by itself.
        if response["uncompressed"]?.text == "true" { recorded.coding = "gzip" }
        return Interaction(
            request: RecordedRequest(
                method: ImportDraft.method(request["method"]),
                url: try request.required("url", as: "the URL").text ?? "",
                fields: try draft.fields(request["headers"]), body: draft.bytes(request["body"]),
                trailers: try draft.fields(request["trailer"])),
            response: recorded)
    }
}

extension StoredNode {
    /// The first of the interactions, or null if the list is empty; nil if this has no list of interactions.
    var firstInteraction: StoredNode? {
        self["interactions"].map { $0.first ?? $0.at("[0]") }
    }

    /// Whether the response of an interaction has members that only go-vcr writes.
    var isOfGo: Bool {
        let response = self["response"]
        return response?["code"] != nil || response?["duration"] != nil || response?["proto"] != nil
    }
}
#endif
