import Decorum
public import DecorumArchive
import Foundation
import HTTPTypes

extension HAR {
    /// Creates an archive of recorded exchanges, which browsers and proxies open.
    ///
    /// Values that the format has no place for, such as a failure, trailers and the times of chunks, are kept in the
    /// custom field `_cassette`, so that reading the archive restores the same interactions. Nothing is redacted here.
    public init(_ interactions: [Interaction]) {
        self.init(entries: interactions.map(Entry.init))
    }
}

extension HAR.Entry {
    fileprivate init(_ interaction: Interaction) {
        let request = interaction.request
        let response = interaction.response
        self.init(
            request: HAR.Request(
                method: request.method, url: request.url, fields: request.fields, content: request.body.bytes),
            response: response.map { HAR.Response($0, to: request.method) } ?? HAR.Response(status: 0),
            startedAt: interaction.recordedAt)
        if let failure = interaction.failure { self.response.failure = failure.kind }
        let receive = (response?.chunks ?? []).reduce(0.0) { $0 + Double($1.pause) }
        timings.receive = receive
        time = timings.total
        let more = more(of: interaction)
        if !more.isEmpty { custom = [JSONValue.Member("_cassette", .object(more))] }
    }

    /// The values that the format has no place for.
    private func more(of interaction: Interaction) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ value: JSONValue) { members.append(JSONValue.Member(name, value)) }
        if let failure = interaction.failure {
            add("failure", .array([.string(failure.kind), .string(failure.stage.rawValue)]))
        }
        if interaction.request.url != request.url { add("url", .string(interaction.request.url)) }
        if interaction.recordedAt == nil { add("isDated", .bool(false)) }
        if !interaction.tests.isEmpty { add("tests", .array(interaction.tests.map { .string($0) })) }
        if interaction.request.body.exactness != .exact {
            add("requestExactness", .string(interaction.request.body.exactness.rawValue))
        }
        if !interaction.request.trailers.isEmpty { add("requestTrailers", interaction.request.trailers.pairs) }
        guard let response = interaction.response else { return members }
        if response.body.exactness != .exact { add("exactness", .string(response.body.exactness.rawValue)) }
        if !response.trailers.isEmpty { add("trailers", response.trailers.pairs) }
        if let coding = response.coding { add("coding", .string(coding)) }
        if self.response.content.compression != nil {
            add("content", .string(response.body.bytes.base64EncodedString()))
        }
        if !response.chunks.isEmpty {
            add("chunks", .array(response.chunks.map { .array([.number("\($0.pause)"), .number("\($0.length)")]) }))
        }
        if !response.informational.isEmpty {
            add(
                "informational",
                .array(response.informational.map { .array([.number("\($0.status)"), $0.fields.pairs]) }))
        }
        return members
    }
}

extension HAR.Response {
    /// Readers of archives expect content without its content coding, which a cassette may keep.
    fileprivate init(_ response: RecordedResponse, to method: String) {
        var budget = ImportBudget()
        let decoded = try? response.decodedContent(to: method, within: &budget)
        self.init(
            status: response.status, reason: response.reason, fields: response.fields,
            content: decoded ?? response.body.bytes)
        guard let decoded else { return }
        bodySize = response.body.bytes.count
        content.compression = decoded.count - bodySize
    }
}

extension RecordedResponse {
    /// The content without its content coding; nil if it has no coding, or one that cannot be undone here.
    fileprivate func decodedContent(
        to method: String, within budget: inout ImportBudget
    ) throws(CassetteImportError) -> Data? {
        var copy = self
        guard !body.bytes.isEmpty, try copy.decodeContent(of: method, within: &budget) == nil,
            copy.body.bytes != body.bytes
        else { return nil }
        return copy.body.bytes
    }
}

extension Interaction {
    /// Restores the values that the format has no place for from the custom field.
    mutating func restore(
        from entry: HAR.Entry, within budget: inout ImportBudget
    ) throws(CassetteImportError) {
        guard let more = entry.custom.first(where: { $0.name == "_cassette" })?.value else { return }
        if let parts = more["failure"]?.array?.compactMap(\.string), parts.count == 2,
            let stage = RecordedFailure.Stage(rawValue: parts[1])
        {
            failure = RecordedFailure(kind: parts[0], stage: stage)
        }
        // A value that was changed in the archive itself takes precedence over the custom field.
        if let url = more["url"]?.string, HAR.written(url) == entry.request.url { request.url = url }
        if more["isDated"] == .bool(false) { recordedAt = nil }
        tests = more["tests"]?.array?.compactMap(\.string) ?? []
        if let exactness = more["requestExactness"]?.exactness { request.body.exactness = exactness }
        if let trailers = more["requestTrailers"] { request.trailers = try trailers.fields(within: budget) }
        if let exactness = more["exactness"]?.exactness { response?.body.exactness = exactness }
        if let trailers = more["trailers"] { response?.trailers = try trailers.fields(within: budget) }
        if let coding = more["coding"]?.string { response?.coding = coding }
        if let content = more["content"]?.string.flatMap({ Data(base64Encoded: $0) }), var coded = response {
            coded.body.bytes = content
            let decoded = try coded.decodedContent(to: request.method, within: &budget)
            if decoded == response?.body.bytes { response = coded }
        }
        response?.chunks = (more["chunks"]?.array ?? []).compactMap { chunk in
            guard let pause = chunk.array?.first?.integer, let length = chunk.array?.last?.integer else { return nil }
            return RecordedResponse.Chunk(pause: pause, length: length)
        }
        if response?.hasPlausibleChunks == false { response?.chunks = [] }
        var informational: [RecordedResponse.Interim] = []
        for interim in more["informational"]?.array ?? [] {
            guard let parts = interim.array, parts.count == 2, let status = parts[0].integer,
                (100...199).contains(status)
            else { continue }
            informational.append(.init(status: status, fields: try parts[1].fields(within: budget)))
        }
        response?.informational = informational
    }
}

extension RecordedResponse {
    /// Whether the chunks are parts of the content, and each takes at most a day.
    fileprivate var hasPlausibleChunks: Bool {
        let count = body.bytes.count
        return chunks.allSatisfy { (0...count).contains($0.length) && (0...86_400_000).contains($0.pause) }
            && chunks.reduce(0) { $0 + $1.length } <= count
    }
}

extension HTTPFields {
    fileprivate var pairs: JSONValue {
        .array(map { .array([.string($0.name.rawName), .string($0.value)]) })
    }
}

extension JSONValue {
    fileprivate var exactness: RecordedBody.Exactness? { string.flatMap(RecordedBody.Exactness.init) }

    fileprivate func fields(within budget: ImportBudget) throws(CassetteImportError) -> HTTPFields {
        var fields = HTTPFields()
        for pair in array ?? [] {
            guard let parts = pair.array?.compactMap(\.string), parts.count == 2, let name = HTTPField.Name(parts[0])
            else { continue }
            try budget.checkField(after: fields.count)
            fields.append(HTTPField(name: name, value: parts[1]))
        }
        return fields
    }
}
