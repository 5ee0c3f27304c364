#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import Foundation
import NIOCore
import NIOHTTP1

/// The content of a request in a form that AsyncHTTPClient can send.
enum AsyncHTTPClientContent: Sendable {
    case none
    case bytes(Data)
    case stream(ContentSource, length: Int64?)

    // Small enough for a slow network: the idle timeout is counted from one piece to the next.
    static let pieceSize = 64 << 10
    // A ByteBuffer has room for less than 4 GiB.
    private static let bufferLimit = 1 << 31

    /// Converts a body; one that cannot be opened, or not until the deadline, fails before anything is sent.
    static func make(
        _ body: Body, for client: AsyncHTTPClientOwner, isSecure: Bool, until deadline: ContinuousClock.Instant?,
        on watch: TimeLimitWatch
    ) async throws -> AsyncHTTPClientContent {
        if body.isEmpty { return .none }
        // Over TLS, and so maybe over HTTP/2, as one buffer, which is how AsyncHTTPClient takes bytes itself: its streams
        // have flaws that its buffers do not have. Otherwise in pieces, after each of which an early response is noticed.
        if let bytes = body.bytes, bytes.count <= (isSecure ? bufferLimit : pieceSize) { return .bytes(bytes) }
        let source: ContentSource?
        do {
            source = try await watch.leavableValue(until: deadline) { try await ContentSource(body, client) }
        } catch {
            throw TransportError.unreadableBody(error, at: .connecting)
        }
        guard let source else { throw TransportError(.deadlineExceeded, at: .connecting) }
        return .stream(source, length: body.length)
    }

    func body(in exchange: AsyncHTTPClientExchange) -> HTTPClientRequest.Body? {
        switch self {
        case .none: nil
        case .bytes(let data): .bytes(ByteBuffer(bytes: data))
        case .stream(let source, let length):
            .stream(ContentPieces(source: source, exchange: exchange), length: length.map { .known($0) } ?? .unknown)
        }
    }

    /// Closes the stream, if there is one, in a task of its own, since an app's reader must not run on an event loop.
    func close() {
        if case .stream(let source, _) = self { Task { await source.close() } }
    }
}

/// Reads the content of a request in pieces, each when the server has taken the one before.
actor ContentSource {
    // A mebibyte.
    private static let pieceLimit = 16

    private var reader: (any BodyReader)?
    private var rest = Data()
    private var client: AsyncHTTPClientOwner?
    private var pieceCount = 0
    private let length: Int64?
    private var count: Int64 = 0

    init(_ body: Body, _ client: AsyncHTTPClientOwner) async throws {
        self.client = client
        length = body.length
        // The length that is announced is that of the file when the body was made.
        if let file = body.file, try Body(contentsOf: file) != body { throw BodyLengthError() }
        reader = try await body.open()
    }

    func next() async throws -> ByteBuffer? {
        if rest.isEmpty {
            // With nil in place of the error, the content sent so far would look complete to the server.
            guard var reader else { throw CancellationError() }
            let chunk = try await reader.next()
            count += Int64(chunk?.count ?? 0)
            // With its last byte the request is complete for the server, so an error behind that byte has to come first.
            if chunk != nil, count == length { while try await reader.next() != nil {} }
            guard self.reader != nil else { throw CancellationError() }
            guard let chunk else { return nil }
            self.reader = reader
            rest = chunk
        }
        // The client asks for more while pieces that wait for their event loop are not counted as unsent, so the loops
        // get a turn from time to time.
        pieceCount += 1
        if pieceCount.isMultiple(of: Self.pieceLimit) { try await client?.settle() }
        let piece = rest.prefix(AsyncHTTPClientContent.pieceSize)
        rest = rest.dropFirst(piece.count)
        return ByteBuffer(bytes: piece)
    }

    func close() {
        reader = nil
        client = nil
        rest = Data()
    }
}

/// The pieces of a request's content, as AsyncHTTPClient asks for them.
private struct ContentPieces: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let source: ContentSource
    let exchange: AsyncHTTPClientExchange

    func next() async throws -> ByteBuffer? { try await exchange.read(source) }

    func makeAsyncIterator() -> ContentPieces { self }
}

extension HTTPClientRequest {
    /// Converts the head of a request, which was validated.
    ///
    /// AsyncHTTPClient announces the content itself, in place of what the fields say of its length and coding: a
    /// second announcement would let a request be smuggled past a proxy (RFC 9112, section 6.3).
    init(_ head: HTTPRequest) throws(InvalidRequestError) {
        let path = head.path ?? "/"
        guard path.hasPrefix("/") else {
            throw InvalidRequestError(
                .invalidPath, "AsyncHTTPClient cannot send a request for the server as a whole; give it a path.")
        }
        guard let scheme = head.scheme, let authority = head.authority, !path.utf8.contains(UInt8(ascii: "#")) else {
            throw InvalidRequestError(.invalidURL, "The URL has no scheme, no host or a fragment in its path.")
        }
        self.init(url: "\(scheme)://\(authority)\(path)")
        method = HTTPMethod(rawValue: head.method.rawValue)

        headers.reserveCapacity(head.headerFields.count + 2)
        // RFC 9110, section 7.2, asks for it to be the first field.
        if !head.headerFields.contains(where: { $0.name.canonicalName == "host" }) {
            headers.add(name: "Host", value: authority)
        }
        for field in head.headerFields {
            headers.add(name: field.name.rawName, value: field.value)
        }
    }
}

extension HTTPResponse {
    // HTTPFields traps when there are more than fit, and a server can send that many.
    private static let fieldLimit = 10_000

    /// Converts a head; nil if its status, the number of its fields or its lengths are invalid.
    init?(_ response: HTTPClientResponse) {
        let code = Int(response.status.code)
        guard (100...999).contains(code), response.headers.count <= Self.fieldLimit else { return nil }
        var fields = HTTPFields()
        for (name, value) in response.headers {
            guard let name = HTTPField.Name(name) else { return nil }
            fields.append(HTTPField(name: name, value: value))
        }
        guard !fields.isContentLengthAmbiguous else { return nil }
        self.init(status: Status(code: code, reasonPhrase: response.status.reasonPhrase), headerFields: fields)
    }
}
#endif
