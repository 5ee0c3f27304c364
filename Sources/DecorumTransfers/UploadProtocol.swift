public import Decorum
public import Foundation
public import HTTPTypes

/// A protocol by which an upload goes on after a break: ``ResumableUpload``, ``TusUpload``, ``S3MultipartUpload``, or an app's.
///
/// The functions make one exchange or a few, and neither wait nor repeat. After an error that may pass (`TemporaryError`), or a
/// `StatusError` with 408, 409, 423, 425, 429, 460, 500, 502, 503 or 504, there is a wait, and then ``offset(of:)`` is called.
public protocol UploadProtocol: Sendable {
    /// The name, by which a later process finds the record of an upload.
    var name: String { get }

    /// Creates the upload at the server, and notes in ``Upload/ticket`` what a later process needs, which is never nothing.
    nonisolated(nonsending) func create(_ upload: inout Upload) async throws -> UploadStep

    /// Asks the server how much it has stored; throws ``UploadError`` with ``UploadError/Reason/gone`` if the upload is gone.
    nonisolated(nonsending) func offset(of upload: inout Upload) async throws -> UploadStep

    /// Sends content from an offset on: all of the rest, or a part; at the end of the content, completes the upload.
    nonisolated(nonsending) func append(from offset: Int64, to upload: inout Upload) async throws -> UploadStep

    /// Asks the server to forget the upload.
    nonisolated(nonsending) func cancel(_ upload: inout Upload) async throws
}

/// The state of an upload at the server after an exchange.
public enum UploadStep: Sendable {
    /// The server has stored a number of bytes from the begin, and expects more, or the end.
    case stored(Int64)
    /// The upload is complete, with the answer of the server.
    case finished(Response)
}

/// What a later process needs to go on with an upload; it may be a secret, by which anybody can go on.
public struct UploadTicket: Sendable, Hashable, Codable, SecretHolder {
    /// The URL of the upload; nil before it is created, and for a protocol without one.
    public internal(set) var url: String?
    /// The origin that has named the URL.
    var home: String?
    /// The date after which the server may have removed the upload; nil if it is not known.
    public var expiry: Date?
    /// Further facts of the protocol, such as an identifier and sizes.
    public var facts: [String: String] = [:]

    /// A fixed word.
    public var description: String { "ticket of an upload" }
}

/// An upload under way: the request that asks for it, its content, and the way to the server.
public struct Upload: Sendable {
    /// The request of the caller, without content.
    public private(set) var request: Request
    /// What a later process needs to go on.
    public var ticket = UploadTicket()
    /// The tags of the parts that the server has, as texts in XML; no record has them, since the server tells them.
    var parts: [String] = []

    let work: UploadWork
    let body: Body
    let identity: UploadIdentity
    let run: TransferRun

    init(_ work: UploadWork, _ run: TransferRun) async throws {
        (self.work, self.run, request) = (work, run, work.request)
        // A restart takes a file with the length that it has now.
        body = try work.body.file.map { try Body(contentsOf: $0).typed(as: work.body.mediaType) } ?? work.body
        identity = try await UploadIdentity(body)
        request.body = Body(Data()).typed(as: body.mediaType)
    }

    /// The number of bytes of the content.
    public var length: Int64 { identity.length }

    /// Sends a request, and returns the response with any status; errors come without the URL, which may be a secret.
    public func send(_ request: Request) async throws -> Response {
        do {
            return try await work.connection.send(run.prioritized(request))
        } catch let error as StatusError {
            return error.response
        } catch let error as TransportError {
            throw error.withoutURL
        }
    }

    /// The content between two offsets, which counts as progress when it is read; it has no end if the file has changed.
    public func content(_ bounds: Range<Int64>) -> Body {
        guard !bounds.isEmpty else { return .empty }
        let part = body.slice(bounds)
        return Body(length: bounds.upperBound - bounds.lowerBound, replay: .fromAnyOffset) { offset in
            UploadReader(reader: try await part.open(at: offset), offset: bounds.lowerBound + offset, upload: self)
        }
    }

    /// Takes the URL of the upload, relative to the one that has answered; throws ``UploadError`` for one that cannot be used.
    public mutating func locate(_ location: String?, in response: Response) throws {
        var next = request
        if let url = response.metadata.url?.absoluteString { try? next.replaceURL(with: url) }
        let home = (try? Origin(request.head)) ?? (try? Origin(next.head))
        guard let location, !location.isEmpty, (try? next.replaceURL(with: location)) != nil, let home else {
            throw UploadError(.invalidAnswer)
        }
        (ticket.url, ticket.home) = (next.url?.absoluteString, "\(home)")
        _ = try nextRequest(.head)
    }

    /// A request to the URL of the upload, with the caller's options and fields, except those about the content or a condition.
    ///
    /// At another origin, it has none of the caller's fields, and layers add no credentials of the first one. If the caller's
    /// request names no origin, it has none of his credentials.
    ///
    /// - Throws: ``UploadError`` for an origin that the ``UploadPolicy`` does not name.
    public func nextRequest(
        _ method: HTTPRequest.Method, fields: HTTPFields = [:], body: Body = .empty
    ) throws -> Request {
        var next = request
        (next.head.method, next.body) = (method, body)
        // Each of them is an operation of its own.
        next.options.idempotencyKey = nil
        next.head.headerFields = request.head.headerFields.filter { field in
            let name = field.name.canonicalName
            return !["content-", "upload-", "if-", "want-"].contains(where: name.hasPrefix)
                && !["repr-digest", "idempotency-key", "expect", "prefer"].contains(name)
        }
        if let url = ticket.url, let home = ticket.home {
            try next.replaceURL(with: url)
            let (origin, isOwn) = (try Origin(next.head), (try? Origin(request.head)) != nil)
            let secrets = next.options.secretFields.union(work.connection.secretFields)
            next.head.headerFields = next.head.headerFields.filter {
                "\(origin)" == home && (isOwn || !Redaction.standard.isSecret($0, secretFields: secrets))
            }
            if "\(origin)" != home {
                guard work.policy.origins.contains(origin) else { throw UploadError(.foreignOrigin(origin)) }
                next.options.redirectingOrigins.insert(try Origin(home))
            }
        }
        for field in fields { next.head.headerFields[field.name] = field.value }
        return next
    }

    /// Asks for the offset by a `HEAD`; the length in the answer has to be that of the content.
    func ask(with fields: HTTPFields) async throws -> (response: Response, offset: Int64) {
        let response = try await send(nextRequest(.head, fields: fields))
        guard response.status.kind == .successful else { throw refusal(response) }
        let fields = response.head.headerFields
        guard let offset = fields.number(.uploadOffset), fields.number(.uploadLength) ?? length == length else {
            throw UploadError(.invalidAnswer)
        }
        return (response, offset)
    }

    func remove(by request: Request) async throws {
        let response = try await send(request)
        if response.status.kind != .successful, ![404, 410].contains(response.status.code) { throw refusal(response) }
    }

    /// The error for a response that the protocol does not expect, without its URL, which may be a secret.
    public func refusal(_ response: Response) -> any Error {
        var response = response
        response.metadata.url = nil
        return switch response.status.code {
        case let code where [404, 410].contains(code) && ticket != UploadTicket(): UploadError(.gone)
        case 413: UploadError(.sizeRefused)
        default: StatusError(response, to: request, at: work.clock.date)
        }
    }
}

private struct UploadReader: BodyReader {
    var reader: any BodyReader
    var offset: Int64
    let upload: Upload
    let trailers: HTTPFields? = nil

    mutating func next() async throws -> Data? {
        guard let chunk = try await reader.next() else { return nil }
        offset += Int64(chunk.count)
        if offset == upload.length {
            // From here on the server may have all of it, whatever becomes of its answer.
            guard upload.identity.isStill(upload.body) else { throw UploadError(.contentChanged) }
            try await upload.work.keeper.keep(nil) { $0.isWholeSent = true }
        }
        upload.run.advance(to: offset)
        return chunk
    }
}

/// An upload cannot begin or go on.
public struct UploadError: DescribableError, Hashable {
    /// The reason.
    public enum Reason: Sendable, Hashable {
        /// The content cannot be read more than once and from any offset, or its length is not known.
        case contentReadOnce
        /// The file is not the one with which the upload began.
        case contentChanged
        /// The server names no upload, or tells an offset that went back or is past what it was sent, or another length.
        case invalidAnswer
        /// The upload has a URL of another origin, which the policy does not name.
        case foreignOrigin(Origin)
        /// The server has removed the upload.
        case gone
        /// The server has removed the upload after all content was sent, so it may be complete.
        case outcomeUnknown
        /// The server takes no content of this length.
        case sizeRefused
        /// The record of the upload was damaged, or another user's; it was set aside.
        case damagedRecord
    }

    /// The reason.
    public let reason: Reason

    /// Creates an error.
    public init(_ reason: Reason) { self.reason = reason }

    /// The name of the reason.
    public var shortDescription: String { if case .foreignOrigin = reason { "foreignOrigin" } else { "\(reason)" } }

    /// The reason and the way to mend it, without the URL of the upload, which may be a secret.
    public var description: String {
        switch reason {
        case .contentReadOnce: "The content cannot be read again from any offset. Upload bytes or a file."
        case .contentChanged: "The content has changed since the upload began. Start it again with `restart()`."
        case .invalidAnswer: "The server breaks the protocol. Check the URL and the protocol, or use `restart()`."
        case .foreignOrigin(let origin): "The server leads to \(origin). Name this origin in the policy to follow."
        case .gone: "The server has the upload no longer. Start it again with `restart()`."
        case .outcomeUnknown: "All was sent, but the answer is lost and the upload gone. Look at the server first."
        case .sizeRefused: "The server takes no content of this size. Send less, or ask for another limit."
        case .damagedRecord: "The record cannot be used, and was set aside. Start again from the first byte."
        }
    }
}
