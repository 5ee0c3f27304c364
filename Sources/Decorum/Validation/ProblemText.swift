import Foundation
import HTTPTypes

/// The text in which a server says what is wrong with a request.
enum ProblemText {
    /// A problem in the form of RFC 9457, of OAuth (RFC 6749, section 5.2), or of the many servers with a `message`.
    private struct Problem: Decodable {
        let title: Text?
        let detail: Text?
        let message: Text?
        let error: Text?
        let errorDescription: Text?

        enum CodingKeys: String, CodingKey {
            case title, detail, message, error
            case errorDescription = "error_description"
        }

        var text: String? {
            let parts = [title ?? error, detail ?? message ?? errorDescription].compactMap { $0?.value }
            return parts.isEmpty ? nil : parts.joined(separator: ": ")
        }
    }

    /// A string, or an object with the string as its `message`; any other value counts as absent.
    private struct Text: Decodable {
        private struct Object: Decodable { let message: String? }

        let value: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value = (try? container.decode(String.self)) ?? (try? container.decode(Object.self))?.message
        }
    }

    // A problem is short; more content is not searched.
    private static let limit = 64 << 10

    /// Finds the text in JSON, for a description; nil where there is none, or where the JSON is not complete.
    static func find(in content: Data) -> String? {
        guard content.count <= limit, let text = try? JSONDecoder().decode(Problem.self, from: content).text else {
            return nil
        }
        let shown = Redaction.shownWords(text)
        return shown.isEmpty ? nil : shown
    }
}

extension StatusError {
    /// Creates the error for a response whose problem is read where it is JSON: from the first chunk of the body, which
    /// then still gives all of its bytes.
    init(
        method: HTTPRequest.Method, origin: Origin?, routeName: String?, reading response: consuming Response
    ) async throws {
        guard response.body.bytes == nil, response.body.replay == .once, response.problemKind == .json else {
            self.init(method: method, origin: origin, routeName: routeName, response: response)
            return
        }
        let (chunk, body) = try await response.body.readingAhead()
        response.body = body
        self.init(
            method: method, origin: origin, routeName: routeName, response: response,
            problem: chunk.flatMap(ProblemText.find))
    }
}

extension Response {
    var problemKind: ContentKind { ContentKind(mediaType: head.headerFields[.contentType]) }
}

extension Body {
    /// Reads the first chunk; returns it, and a body with all bytes, which throws where the first chunk did.
    fileprivate func readingAhead() async throws -> (chunk: Data?, body: Body) {
        let length = length
        let opened = ReadAheadBody(self)
        let chunk = try await opened.readAhead()
        return (chunk, Body(trustedLength: length, replay: .once) { _ in ReadAheadBodyReader(body: opened) })
    }
}

/// A body that is open, whose first chunk waits for the reader.
private actor ReadAheadBody {
    private var body: Body?
    private var reader: (any BodyReader)?
    private var first: Result<Data?, any Error>?

    init(_ body: Body) {
        self.body = body
    }

    /// Reads the first chunk; nil where there is none or where reading fails, which the reader learns too.
    func readAhead() async throws -> Data? {
        do {
            reader = try await body.take()?.open()
            let chunk = try await readNext()
            first = .success(chunk)
            return chunk
        } catch let error as CancellationError {
            throw error
        } catch {
            first = .failure(error)
            return nil
        }
    }

    func next() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        let chunk = if let first = first.take() { try first.get() } else { try await readNext() }
        return (chunk, chunk == nil ? reader?.trailers : nil)
    }

    private func readNext() async throws -> Data? {
        var reader = reader.take()
        defer { self.reader = reader }
        return try await reader?.next()
    }
}

private struct ReadAheadBodyReader: BodyReader {
    let body: ReadAheadBody
    private(set) var trailers: HTTPFields?

    mutating func next() async throws -> Data? {
        let (chunk, trailers) = try await body.next()
        if chunk == nil { self.trailers = trailers }
        return chunk
    }
}
