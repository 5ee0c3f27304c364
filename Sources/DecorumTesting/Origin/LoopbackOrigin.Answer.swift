public import Foundation
public import HTTPTypes

extension LoopbackOrigin {
    /// The reaction of the origin to a request: an ordinary response, or a list of steps.
    ///
    /// ```swift
    /// origin.route(.get, "/hello", "hello")
    /// origin.route(.get, "/feed", .init(fields: ["ETag": #""1""#], body: "news"))
    /// origin.enqueue(.init(.serviceUnavailable).after(.pause(.seconds(1))))
    /// origin.enqueue(.script(.head(.ok, ["Content-Length": "10"]), .raw("half"), .close))
    /// ```
    ///
    /// An ordinary response gets `Content-Length` or `Transfer-Encoding` where its fields name neither, and
    /// `Connection` where the connection is about to close or an HTTP/1.0 client keeps it. It gets no other field, not
    /// even a `Date`. It has no content for `HEAD`, 204 and 304.
    ///
    /// After the last step the connection serves the next request, unless the client or a `Connection: close` in the
    /// answer ends it.
    public struct Answer: Sendable {
        /// The steps, in order.
        public var steps: [Step]

        /// Creates an answer from steps.
        ///
        /// - Parameter steps: The steps, in order.
        public init(steps: [Step]) {
            self.steps = steps
        }

        /// Creates an ordinary response.
        ///
        /// - Parameters:
        ///   - status: The status.
        ///   - fields: The field lines, which are sent as they are.
        ///   - body: The content.
        public init(_ status: HTTPResponse.Status = .ok, fields: RawFields = [:], body: Data = Data()) {
            self.init(steps: [.response(status, fields, .bytes(body))])
        }

        /// Creates an ordinary response.
        ///
        /// - Parameters:
        ///   - status: The status.
        ///   - fields: The field lines, which are sent as they are.
        ///   - body: The content, sent in UTF-8.
        public init(_ status: HTTPResponse.Status = .ok, fields: RawFields = [:], body: String) {
            self.init(status, fields: fields, body: Data(body.utf8))
        }

        /// Adds steps before those of this answer, such as a pause or a `103 Early Hints`.
        ///
        /// - Parameter steps: The steps, in order.
        /// - Returns: An answer with all steps.
        public func after(_ steps: Step...) -> Answer {
            Answer(steps: steps + self.steps)
        }
    }
}

extension LoopbackOrigin.Answer: ExpressibleByStringLiteral {
    /// Creates a response with status 200.
    ///
    /// - Parameter value: The content, sent in UTF-8.
    public init(stringLiteral value: String) {
        self.init(body: value)
    }
}

extension LoopbackOrigin.Answer {
    /// Closes the connection without a byte.
    public static let closing = script(.close)
    /// Resets the connection without a byte.
    public static let resetting = script(.reset)
    /// Leaves the request unanswered until the client gives up.
    public static let hanging = script(.hang)

    /// Creates an answer from steps.
    ///
    /// - Parameter steps: The steps, in order.
    /// - Returns: The answer.
    public static func script(_ steps: LoopbackOrigin.Step...) -> Self {
        Self(steps: steps)
    }

    /// Creates a response in the chunked coding; an HTTP/1.0 client gets the content until the connection closes.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The field lines, which are sent as they are.
    ///   - chunks: The chunks; those without bytes are left out, since they would end the body.
    ///   - trailers: The field lines after the last chunk.
    /// - Returns: The answer.
    public static func chunked(
        _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], chunks: [Data], trailers: RawFields = [:]
    ) -> Self {
        Self(steps: [.response(status, fields, .chunks(chunks, trailers))])
    }

    /// Creates a response in the chunked coding; an HTTP/1.0 client gets the content until the connection closes.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The field lines, which are sent as they are.
    ///   - chunks: The chunks, sent in UTF-8; those without bytes are left out, since they would end the body.
    ///   - trailers: The field lines after the last chunk.
    /// - Returns: The answer.
    public static func chunked(
        _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], chunks: [String], trailers: RawFields = [:]
    ) -> Self {
        chunked(status, fields: fields, chunks: chunks.map { Data($0.utf8) }, trailers: trailers)
    }

    /// Creates a response whose content ends where the connection does.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The field lines, which are sent as they are.
    ///   - body: The content.
    /// - Returns: The answer.
    public static func untilClose(
        _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], body: Data
    ) -> Self {
        Self(steps: [.response(status, fields, .untilClose(body))])
    }

    /// Creates a response whose content ends where the connection does.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The field lines, which are sent as they are.
    ///   - body: The content, sent in UTF-8.
    /// - Returns: The answer.
    public static func untilClose(
        _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], body: String
    ) -> Self {
        untilClose(status, fields: fields, body: Data(body.utf8))
    }

    /// Creates a response with the bytes of ``BytePattern``, written as fast as the client reads and never held.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The field lines, which are sent as they are.
    ///   - count: The number of bytes; a negative one counts as zero.
    ///   - isChunked: Whether the content goes in the chunked coding, without its length.
    /// - Returns: The answer.
    public static func generated(
        _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], count: Int64, chunked isChunked: Bool = false
    ) -> Self {
        Self(steps: [.response(status, fields, .generated(max(0, count), isChunked: isChunked))])
    }
}
