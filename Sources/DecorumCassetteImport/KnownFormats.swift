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

/// Recordings of Vinyl, which are lists of the interactions that DVR writes.
struct VinylFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root.first?["request"] != nil }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
        try DVRFormat.read(document.root.elements ?? [], into: &draft)
        return "Vinyl"
    }
}

/// Cassettes of both versions of go-vcr.
struct GoVCRFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool {
        let root = try document.root
        guard let first = root.firstInteraction else { return false }
        return root["version"]?.integer == 2 || first.isOfGo && (root["name"] == nil || root["version"] != nil)
    }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
        let root = try document.root
        for node in try root.list("interactions") {
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
            let recordedRequest = RecordedRequest(
                method: ImportDraft.method(request["method"]),
                url: try request.required("url", as: "the URL").text ?? "",
                fields: try draft.fields(request["headers"]), body: draft.bytes(request["body"]),
                trailers: try draft.fields(request["trailer"]))
            draft.append(Interaction(request: recordedRequest, response: recorded), at: node)
        }
        return "go-vcr \(root["version"]?.integer == 2 ? 2 : 1)"
    }
}

extension StoredNode {
    /// The first of the interactions, or null if the list is empty; nil if this has no list of interactions.
    var firstInteraction: StoredNode? {
        self["interactions"].map { $0.first ?? $0.at("[0]") }
    }

    /// Whether the response of an interaction has members that only go-vcr writes.
    var isOfGo: Bool {
        ["code", "duration", "proto"].contains { self["response"]?[$0] != nil }
    }
}

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

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
        let root = try document.root
        for node in try root.list("http_interactions") {
            let request = try node.required("request", as: "the request")
            let response = try node.required("response", as: "the response")
            let status = response["status"]
            // VCR for R uses the member name of betamax inside the member of VCR.
            let number = status?["code"] ?? status?["status_code"] ?? response["status_code"] ?? status
            guard let code = number?.integer else { throw response.fault("the status is missing") }
            let recordedRequest = RecordedRequest(
                method: (request["method"]?.text ?? "get").drop { $0 == ":" }.uppercased(),
                url: try request.required("uri", as: "the URI").text ?? "",
                fields: try draft.fields(request["headers"]), body: try draft.vcrBody(request["body"]))
            var recorded = RecordedResponse(
                status: code, reason: status?["message"]?.text ?? "", fields: try draft.fields(response["headers"]),
                body: try draft.vcrBody(response["body"]))
            recorded.coding = response["adapter_metadata"]?["vcr_decompressed"]?.text
            draft.append(
                Interaction(request: recordedRequest, response: recorded, recordedAt: node["recorded_at"]?.date),
                at: node)
        }
        draft.warnOfPlaceholders()
        draft.hasNamedPlaceholders = true
        return root["recorded_with"]?.text?.lowercased().hasPrefix("betamax") == true ? "betamax" : "VCR"
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
                warn(.placeholder, at: places[index], "\(placeholder.name) stands in place of a value.")
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

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
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
        return "vcrpy"
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

struct NockFormat: ForeignFormat {
    func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root.first?["scope"] != nil }

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
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
        return "nock"
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

    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
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
        return "undici"
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
