import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// Plays a recording below a stack that is compared, and notes what passes.
struct ComparedPlayer: Connection {
    private final class Meter: Sendable {
        struct Counts {
            var sent: [SentHead] = []
            var bytesSent = 0
            var bytesReceived = 0
        }

        private let state = Mutex(Counts())

        var counts: Counts { state.withLock { $0 } }
        func change(_ change: @Sendable (inout Counts) -> Void) { state.withLock { change(&$0) } }
    }

    private let base: CassetteConnection
    private let meter = Meter()

    init(base: CassetteConnection) {
        self.base = base
    }

    var layers: [Layer] { base.layers }

    func send(_ request: consuming Request) async throws -> Response {
        let meter = meter
        let sent = SentHead(request)
        meter.change { $0.sent.append(sent) }
        request.body = request.body.observed { event in
            if case .chunk(let data) = event { meter.change { $0.bytesSent += data.count } }
        }
        let asked = request.head
        var response = try await base.send(request)
        if response.confirms(asked) {
            response.head = HTTPResponse(
                status: .notModified,
                headerFields: response.head.headerFields.filter { Self.confirmingFields.contains($0.name) })
            response.body = .empty
        }
        response.body = response.body.observed { event in
            if case .chunk(let data) = event { meter.change { $0.bytesReceived += data.count } }
        }
        return response
    }

    /// The fields of a response that confirms a stored one (RFC 9110, section 15.4.5).
    private static let confirmingFields: Set<HTTPField.Name> = [
        .cacheControl, .contentLocation, .date, .eTag, .expires, .lastModified, .vary,
    ]

    /// Sends a request through a stack over this connection, and reads the answer to its end.
    ///
    /// The course gets its requests when the secrets of all stacks are known.
    func course(
        of request: Request, through stack: any Connection, clock: ImpatientClock, upTo limit: Int
    ) async throws -> (course: StackComparison.Course, sent: [SentHead]) {
        meter.change { $0 = Meter.Counts() }
        let start = clock.now
        var outcome: String
        var source: ResponseMetadata.Source?
        var content = ""
        do {
            let response = try await stack.send(request)
            outcome = "\(response.status.code)"
            source = response.metadata.source ?? .network
            content = CassetteFiles.checksum(try await response.body.data(upTo: limit))
        } catch let error as CancellationError where Task.isCancelled {
            throw error
        } catch {
            outcome = Self.kind(of: error)
            source = nil
        }
        let counts = meter.counts
        let course = StackComparison.Course(
            outcome: outcome, source: source, bytesSent: counts.bytesSent, bytesReceived: counts.bytesReceived,
            time: clock.now - start, content: content)
        return (course, counts.sent)
    }

    private static func kind(of error: any Error) -> String {
        switch error {
        case let error as TransportError: error.code.description
        case let error as StatusError: "StatusError \(error.response.status.code)"
        case is CassetteMissError: "no recording"
        default: "\(type(of: error))"
        }
    }
}

extension Response {
    /// Whether a server would answer the request with 304, because the client has the current representation (RFC 9110,
    /// section 13.1).
    fileprivate func confirms(_ request: HTTPRequest) -> Bool {
        guard status == .ok, request.method == .get || request.method == .head else { return false }
        if let tags = request.headerFields[.ifNoneMatch] {
            guard let tag = head.headerFields[.eTag] else { return false }
            return tags.split(separator: ",").contains { Self.opaqueTag($0[...]) == Self.opaqueTag(tag[...]) }
        }
        guard let date = request.headerFields[.ifModifiedSince] else { return false }
        return date == head.headerFields[.lastModified]
    }

    /// The part of an entity tag that a weak comparison compares (RFC 9110, section 8.8.3.2).
    private static func opaqueTag(_ tag: Substring) -> Substring {
        let tag = tag.trimmingCharacters(in: .whitespaces)
        return tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
    }
}

/// The head of a request as it was sent, with its secrets and their declarations.
struct SentHead: Sendable {
    let head: HTTPRequest
    let secretFields: Set<HTTPField.Name>
    let secretQueryItems: Set<String>

    init(_ request: borrowing Request) {
        head = request.head
        secretFields = request.options.secretFields
        secretQueryItems = request.options.secretQueryItems
    }
}

/// Removes the secrets from the requests of a comparison.
///
/// One stack may mark a secret that another sends without a mark. So it knows the secrets of all stacks before it shows a
/// request.
struct WireRedaction {
    private let redactor: CassetteRedactor
    private let scanner: SecretScanner
    private let secretFields: Set<HTTPField.Name>
    private let secretQueryItems: Set<String>

    init(of heads: [SentHead], by redactor: CassetteRedactor, masking scanner: SecretScanner) {
        self.redactor = redactor
        self.scanner = scanner
        secretFields = heads.reduce(into: []) { $0.formUnion($1.secretFields) }
        secretQueryItems = heads.reduce(into: []) { $0.formUnion($1.secretQueryItems) }
        // The redactor notes the secrets that it replaces.
        for head in heads { _ = redacted(head) }
    }

    private func redacted(_ head: SentHead) -> RecordedRequest {
        redactor.matchable(
            RecordedRequest(head.head, secretFields: secretFields, secretQueryItems: secretQueryItems))
    }

    /// A request as it may be shown to a person.
    func shown(_ head: SentHead) -> StackComparison.WireRequest {
        var request = redacted(head)
        for index in request.fields.indices {
            let value = scanner.masked(request.fields[index].value)
            // Setting a field copies all fields.
            if value != request.fields[index].value { request.fields[index].value = value }
        }
        return StackComparison.WireRequest(
            method: request.method, url: scanner.masked(request.url), fields: request.fields)
    }
}
