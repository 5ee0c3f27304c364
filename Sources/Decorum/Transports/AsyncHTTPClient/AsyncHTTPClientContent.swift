#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import NIOCore

/// The content of a request in a form that AsyncHTTPClient can send.
enum AsyncHTTPClientContent: Sendable {
    case none
    case bytes(Data)
    case stream(ContentSource, length: Int64?)

    // Small enough for a slow network: the time a transfer stands still is counted from one piece to the next.
    static let pieceSize = 64 << 10

    /// Brings a body into that form; one that cannot be opened fails before anything is sent.
    static func make(
        _ body: Body, for client: AsyncHTTPClientOwner, isSecure: Bool
    ) async throws -> AsyncHTTPClientContent {
        if body.isEmpty { return .none }
        if let bytes = body.bytes, bytes.count <= pieceSize || !mayStream(by: client, isSecure) { return .bytes(bytes) }
        do {
            return .stream(try await ContentSource(body, client), length: body.length)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw TransportError(.unreadableBody, at: .connecting, underlying: error)
        }
    }

    /// Whether content in memory may be sent piece by piece, so that the idle timeout sees it move.
    ///
    /// With TLS it may be HTTP/2, over which a client of the app's ends the process when the server answers within a
    /// stream.
    private static func mayStream(by client: AsyncHTTPClientOwner, _ isSecure: Bool) -> Bool {
        client.connections != nil || !isSecure
    }

    func body(in exchange: AsyncHTTPClientExchange) -> HTTPClientRequest.Body? {
        switch self {
        case .none: nil
        case .bytes(let data): .bytes(ByteBuffer(bytes: data))
        case .stream(let source, let length):
            .stream(ContentPieces(source: source, exchange: exchange), length: length.map { .known($0) } ?? .unknown)
        }
    }

    /// Lets go of what was opened.
    func close() async {
        if case .stream(let source, _) = self { await source.close() }
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
        // The length that was announced is that of the file as it was.
        if case .file(let file) = body.storage, try BodyFile(file.url) != file { throw BodyLengthError() }
        reader = try await body.open()
    }

    func next() async throws -> ByteBuffer? {
        if rest.isEmpty {
            // An end in place of the error would make what was sent so far look complete.
            guard var reader else { throw CancellationError() }
            let chunk = try await reader.next()
            count += Int64(chunk?.count ?? 0)
            // The server would take the request for complete, whatever is wrong behind the last byte.
            if chunk != nil, count == length { while try await reader.next() != nil {} }
            guard self.reader != nil else { throw CancellationError() }
            guard let chunk else { return nil }
            self.reader = reader
            rest = chunk
        }
        // A piece that waits for its event loop does not count yet when the client tells whether the server keeps up.
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
private struct ContentPieces: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
        let pieces: ContentPieces

        func next() async throws -> ByteBuffer? {
            try await pieces.exchange.read(pieces.source)
        }
    }

    let source: ContentSource
    let exchange: AsyncHTTPClientExchange

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pieces: self)
    }
}

@available(*, unavailable)
extension ContentPieces.AsyncIterator: Sendable {}

/// A body that could not be read while it was sent.
struct UnreadableContentError: Error {
    let underlying: any Error
}
#endif
