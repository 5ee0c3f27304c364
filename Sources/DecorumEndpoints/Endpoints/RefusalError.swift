public import Decorum
public import Foundation
public import HTTPTypes
import Synchronization

/// An API has answered a call with a status that its endpoint does not accept.
public struct RefusalError: DescribableError, SecretHolder {
    /// The status with what is known about it: the words of the server, its `Retry-After`, and the response.
    ///
    /// The response holds its transfer open if its content was not read to the end; it ends with the error.
    public let statusError: StatusError
    /// The first 64 KiB of the content; nil if it was not read, since it is neither JSON nor text, or is known to be longer.
    ///
    /// A server may quote any part of the request there, so no description has it.
    public let content: Data?
    let decodedProblem: (any Sendable)?

    /// The status that was not accepted.
    public var status: HTTPResponse.Status { statusError.status }

    /// The words in which the server says what is wrong, wherever an API has them; see `StatusError.problem`.
    public var problem: String? { statusError.problem }

    /// The time for which the server asks to wait, or until a rate limit is renewed; see `StatusError.retryAfter`.
    public var retryAfter: Duration? { statusError.retryAfter }

    /// The API's own error; nil if the API names no type, if the type is another one, or if the content does not
    /// decode as that type, as of a gateway's page.
    ///
    /// - Parameter type: The type that ``API`` names.
    /// - Returns: The decoded error.
    public func problem<Problem>(as type: Problem.Type) -> Problem? { decodedProblem as? Problem }

    /// The code of the status.
    public var shortDescription: String { statusError.shortDescription }

    /// The request, the codes of the status and of the problem, and what to do next; see `StatusError`.
    public var description: String { statusError.description }
}

/// The begin of the content of a response with another status, which is mostly a short text.
enum RefusedContent {
    static let limit = 64 << 10

    /// Reads the begin of the content where it is meant to be read, and leaves the response a body with all bytes.
    ///
    /// - Returns: The response, and the first bytes; nil if nothing was read.
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
    /// A body of bytes that were read, and of the bytes that its reader has left.
    fileprivate init(_ start: Data, and reader: sending any BodyReader) {
        guard start.count >= RefusedContent.limit else {
            self.init(start)
            return
        }
        let rest = RestOfBody(reader)
        self = Body(start).followed(by: Body(replay: .once) { _ in try rest.open() })
    }
}

private final class RestOfBody: Sendable {
    private let reader: Mutex<(any BodyReader)?>

    init(_ reader: sending any BodyReader) {
        self.reader = Mutex(reader)
    }

    func open() throws -> any BodyReader {
        let reader = reader.withLock { reader in
            let taken = reader
            reader = nil
            return taken
        }
        guard let reader else { throw BodyReadTwiceError() }
        return reader
    }
}
