public import Decorum
public import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

extension Connection {
    /// A function in the shape of URLSession's `data(for:)`, for an SDK that takes one in place of a session.
    ///
    /// ```swift
    /// let client = WeatherClient(load: connection.dataLoader(upTo: 1 << 20))
    /// ```
    ///
    /// The method, the URL, the fields and the content of a `URLRequest` are sent; its timeout, its cache policy and the
    /// rest are left to the layers. Every status is returned, also where this stack validates statuses, since the SDK
    /// judges them itself. An `InputStream` of more than a mebibyte can be sent once only, so it is not sent again after a
    /// failure.
    ///
    /// The function throws the errors of the layers unchanged, `InvalidRequestError` for a request that cannot be sent,
    /// `BodyLimitError` for a longer body, and `CancellationError`. An SDK that looks for a `URLError` finds
    /// one in `URLError(_:url:)` of them.
    ///
    /// - Parameter limit: The largest number of bytes of a response body.
    /// - Returns: A function that sends a request through this connection, and returns the content and the head.
    public func dataLoader(
        upTo limit: Int = 16 << 20
    ) -> @Sendable (URLRequest) async throws -> (Data, URLResponse) {
        { urlRequest in
            let request = try await Request(bridging: urlRequest)
            let response = try await send(request)
            guard let url = urlRequest.url, let head = HTTPURLResponse(response, url: url) else {
                throw URLError(.badServerResponse)
            }
            return (try await response.data(upTo: limit), head)
        }
    }
}

extension Request {
    /// Creates a request from one of Foundation's: its method, URL, fields, and content in memory.
    ///
    /// The rest of a `URLRequest`, such as its timeout and its cache policy, says how to send it, and belongs to the layers and
    /// to ``Request/options``.
    ///
    /// - Parameter request: A request of Foundation's.
    /// - Throws: `InvalidRequestError` when there is no URL, when a request cannot be sent to it, when a field has no valid
    ///   name, and when the content is an `InputStream`, which can be read only once and by one thread.
    public init(_ request: URLRequest) throws(InvalidRequestError) {
        guard let url = request.url else {
            throw InvalidRequestError(.missingOrigin, "The URLRequest has no URL.")
        }
        guard request.httpBodyStream == nil else {
            throw InvalidRequestError(
                .invalidBody,
                "The URLRequest has an InputStream; make the request with a `Body` of a file or of chunks.")
        }
        var fields = HTTPFields()
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let fieldName = HTTPField.Name(name) else {
                throw InvalidRequestError(.invalidField, "The URLRequest has a field whose name no field can have.")
            }
            fields[fieldName] = value
        }
        guard let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "GET") else {
            throw InvalidRequestError(.invalidField, "The URLRequest has a method that is no token.")
        }
        try self.init(method, url: url, fields: fields, body: request.httpBody.map { Body($0) } ?? .empty)
    }
}

extension Request {
    /// Creates a request for a caller who judges statuses himself, with the content of an `InputStream` too.
    init(bridging urlRequest: URLRequest) async throws {
        var plain = urlRequest
        // To set no stream would remove the bytes too.
        if plain.httpBodyStream != nil { plain.httpBodyStream = nil }
        try self.init(plain)
        options.acceptedStatuses = .all
        guard let stream = urlRequest.httpBodyStream else { return }
        let length = urlRequest.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
        body = try await Body(reading: stream, length: length)
    }
}

extension HTTPURLResponse {
    /// Creates the head of a response in Foundation's form, for code that takes one.
    ///
    /// Its URL is the one that has answered, after redirections. Values of one name become one field with commas between
    /// them, `Set-Cookie` too, as in what Foundation receives. The body and the metadata are left out.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - url: The URL of the request, for a response whose `url` in the metadata is nil.
    public convenience init?(_ response: Response, url: URL) {
        var fields: [String: String] = [:]
        for (name, lines) in Dictionary(grouping: response.head.headerFields, by: \.name) {
            fields[name.rawName] = lines.map(\.value).joined(separator: ", ")
        }
        self.init(
            url: response.metadata.url ?? url, statusCode: response.status.code, httpVersion: "HTTP/1.1",
            headerFields: fields)
    }
}

extension URLError {
    /// Creates the error of Foundation's that comes nearest to an error of a connection, for code that knows no other.
    ///
    /// A `TransportError` has a code of its own for each cause, such as `.timedOut` for a deadline, and a
    /// cancelled task is `.cancelled`. Where Foundation has no code for an error, it is `.unknown`. The error itself is the
    /// `NSUnderlyingErrorKey` of the user information.
    ///
    /// - Parameters:
    ///   - error: The error that a connection, or the reading of a body, has thrown.
    ///   - url: The URL of the request, which Foundation puts into its errors; nil to leave it out.
    public init(_ error: any Error, url: URL? = nil) {
        var information: [String: Any] = [NSUnderlyingErrorKey: error]
        if let url { information[NSURLErrorFailingURLErrorKey] = url }
        if let text = (error as? TransportError)?.description { information[NSLocalizedDescriptionKey] = text }
        self.init(Self.code(for: error), userInfo: information)
    }

    private static func code(for error: any Error) -> Code {
        switch error {
        case is CancellationError: .cancelled
        case let error as URLError: error.code
        case let error as TransportError: Self.code(for: error)
        case is BodyLimitError: .dataLengthExceedsMaximum
        case is InvalidRequestError: .badURL
        default: .unknown
        }
    }

    private static func code(for error: TransportError) -> Code {
        if error.isTimeout { return .timedOut }
        return switch error.code {
        case .hostNotFound: .cannotFindHost
        case .connectionRefused, .proxyRefused: .cannotConnectToHost
        case .unreachable: .notConnectedToInternet
        case .connectionLost, .truncated: .networkConnectionLost
        case .malformedResponse, .expectationFailed: .badServerResponse
        case .tls: code(for: error.tlsProblem)
        case .undecodableContent: .cannotDecodeContentData
        case .unreadableBody: .requestBodyStreamExhausted
        case .limitExceeded: .dataLengthExceedsMaximum
        default: .unknown
        }
    }

    private static func code(for problem: TransportError.TLSProblem?) -> Code {
        switch problem {
        case .expired: .serverCertificateHasBadDate
        case .notYetValid: .serverCertificateNotYetValid
        case .untrusted: .serverCertificateHasUnknownRoot
        case .wrongName, .unverified, .wrongKey: .serverCertificateUntrusted
        case .required: .appTransportSecurityRequiresSecureConnection
        default: .secureConnectionFailed
        }
    }
}

extension Body {
    private static let chunkSize = 1 << 16
    private static let heldSize = 1 << 20

    /// Creates a body from a stream, which becomes a body of bytes if it is short, so that it can be sent again.
    init(reading stream: InputStream, length: Int64?) async throws {
        let source = InputStreamSource(stream)
        var start = Data()
        while start.count <= Self.heldSize {
            guard let chunk = try await source.read(upTo: Self.chunkSize) else {
                self.init(start)
                return
            }
            start += chunk
        }
        let prefix = start
        self.init(length: length, replay: .once) { _ in
            InputStreamReader(prefix: prefix, source: source, chunkSize: Self.chunkSize)
        }
    }
}

private struct InputStreamReader: BodyReader {
    var prefix: Data?
    let source: InputStreamSource
    let chunkSize: Int

    mutating func next() async throws -> Data? {
        if let chunk = prefix.take() { return chunk }
        return try await source.read(upTo: chunkSize)
    }

    var trailers: HTTPFields? { nil }
}

/// The end of a stream that is read from, which may block a thread, though not one of the cooperative pool.
///
/// `@unchecked Sendable`, since the stream is touched on `queue` alone, and at the end when there is no other reference.
private final class InputStreamSource: @unchecked Sendable {
    private let stream: InputStream
    private let queue = DispatchQueue(label: "decorum.input-stream")

    init(_ stream: InputStream) {
        self.stream = stream
    }

    deinit { stream.close() }

    /// Reads the next bytes, or nil at the end.
    func read(upTo count: Int) async throws -> Data? {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Data?, any Error>) in
            queue.async { continuation.resume(with: Result { try self.chunk(upTo: count) }) }
        }
    }

    private func chunk(upTo count: Int) throws -> Data? {
        if stream.streamStatus == .notOpen { stream.open() }
        var bytes = Data(count: count)
        let received = unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = unsafe buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
            return unsafe stream.read(start, maxLength: count)
        }
        guard received >= 0 else { throw stream.streamError ?? POSIXError(.EIO) }
        return received == 0 ? nil : bytes.prefix(received)
    }
}
