import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// The begin of the content of a response with another status, which is mostly a short text.
enum RefusedContent {
    static let limit = 64 << 10

    /// Reads the begin of the content where it is meant to be read, and leaves the response a body with all bytes.
    ///
    /// - Returns: The response, and the first bytes; nil where nothing was read.
    @concurrent static func read(_ received: Response) async throws -> (Response, Data?) {
        guard isText(received.head.headerFields[.contentType]), received.body.length ?? 0 <= Int64(limit) else {
            return (received, nil)
        }
        if let bytes = received.body.bytes { return (received, bytes) }
        var response = received
        var start = Data()
        do {
            var reader = try await received.bodyInTime.open()
            while start.count < limit, let chunk = try await reader.next() { start.append(chunk) }
            response.body = Body(start, and: reader)
        } catch let error as CancellationError {
            throw error
        } catch {
            // The status says more than the failure to read its explanation, which is left to a reader of the body.
            response.body = Body(replay: .fromStart) { _ in throw error }
        }
        return (response, start.prefix(limit))
    }

    private static func isText(_ mediaType: String?) -> Bool {
        // A recipient may examine content without a media type (RFC 9110, section 8.3).
        guard let mediaType = mediaType?.lowercased() else { return true }
        return mediaType.hasPrefix("text/") || mediaType.contains("json") || mediaType.contains("xml")
    }
}

extension Body {
    /// A body of bytes that were read, and of those that its reader has left.
    fileprivate init(_ start: Data, and reader: sending any BodyReader) {
        guard start.count >= RefusedContent.limit else {
            self.init(start)
            return
        }
        let rest = RestOfBody(start, reader)
        self.init(replay: .once) { _ in try rest.open() }
    }
}

private final class RestOfBody: Sendable {
    private let start: Data
    private let reader: Mutex<(any BodyReader)?>

    init(_ start: Data, _ reader: sending any BodyReader) {
        self.start = start
        self.reader = Mutex(reader)
    }

    func open() throws -> any BodyReader {
        let reader = reader.withLock { reader in
            let taken = reader
            reader = nil
            return taken
        }
        return RestReader(start: start, reader: reader)
    }
}

private struct RestReader: BodyReader {
    var start: Data?
    var reader: (any BodyReader)?

    mutating func next() async throws -> Data? {
        if let start {
            self.start = nil
            return start
        }
        return try await reader?.next()
    }

    var trailers: HTTPFields? { reader?.trailers }
}
