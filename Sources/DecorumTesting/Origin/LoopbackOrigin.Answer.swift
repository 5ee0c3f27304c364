public import Decorum
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

        /// Creates an answer from steps, in order.
        public init(steps: [Step]) { self.steps = steps }

        /// Creates an ordinary response, whose field lines are sent as they are.
        public init(
            _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], body: some OriginBytes = Data()
        ) {
            self.init(steps: [.response(status, fields, .bytes(body.originBytes))])
        }

        /// Returns an answer with further steps before its own, such as a pause or a `103 Early Hints`.
        public func after(_ steps: Step...) -> Answer { Answer(steps: steps + self.steps) }
    }
}

/// Bytes that an origin sends: data as it is, or text in UTF-8.
public protocol OriginBytes: Sendable {
    /// The bytes.
    var originBytes: Data { get }
}

extension Data: OriginBytes {
    /// The bytes.
    public var originBytes: Data { self }
}

extension String: OriginBytes {
    /// The text in UTF-8.
    public var originBytes: Data { Data(utf8) }
}

extension LoopbackOrigin.Answer: ExpressibleByStringLiteral {
    /// Creates a response with status 200 and this content.
    public init(stringLiteral value: String) { self.init(body: value) }
}

extension LoopbackOrigin.Answer {
    /// Closes the connection without a byte.
    public static let closing = script(.close)
    /// Resets the connection without a byte.
    public static let resetting = script(.reset)
    /// Leaves the request unanswered until the client gives up.
    public static let hanging = script(.hang)

    /// Creates an answer from steps, in order.
    public static func script(_ steps: LoopbackOrigin.Step...) -> Self { Self(steps: steps) }

    /// Creates a response in the chunked coding, with these field lines as they are and trailers after the last chunk.
    ///
    /// Chunks without bytes are left out, since they would end the body. An HTTP/1.0 client gets the content until the
    /// connection closes.
    public static func chunked(
        _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], chunks: [some OriginBytes],
        trailers: RawFields = [:]
    ) -> Self {
        Self(steps: [.response(status, fields, .chunks(chunks.map(\.originBytes), trailers))])
    }

    /// Creates a response whose content ends where the connection does; its field lines are sent as they are.
    public static func untilClose(
        _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], body: some OriginBytes
    ) -> Self {
        Self(steps: [.response(status, fields, .untilClose(body.originBytes))])
    }

    /// Creates a response with the bytes of ``BytePattern``, written as fast as the client reads and never held.
    ///
    /// The content has `count` bytes, where a negative number counts as zero, and goes with its length or in the chunked
    /// coding. The field lines are sent as they are.
    public static func generated(
        _ status: HTTPResponse.Status = .ok, fields: RawFields = [:], count: Int64, chunked isChunked: Bool = false
    ) -> Self {
        Self(steps: [.response(status, fields, .generated(max(0, count), isChunked: isChunked))])
    }
}

extension LoopbackOrigin {
    /// One action of the origin while it answers; a script consists of steps.
    ///
    /// Nothing is added to the steps, and nothing is checked: a script can break every rule.
    ///
    /// ```swift
    /// let answer = LoopbackOrigin.Answer.script(
    ///     .head(.ok, ["Transfer-Encoding": "chunked"]), .chunk("first"),
    ///     .wait(gate), .chunk("second"), .lastChunk(trailers: ["Digest": "…"]))
    /// ```
    public struct Step: Sendable {
        enum Content: Sendable {
            case bytes(Data)
            case chunks([Data], RawFields)
            case untilClose(Data)
            case generated(Int64, isChunked: Bool)
        }

        enum Action: Sendable {
            case response(HTTPResponse.Status, RawFields, Content)
            case serve(ServedContent)
            case head(HTTPResponse.Status, RawFields)
            case write(Data)
            case generate(Int64)
            case trickle(Data, pieceSize: Int, interval: Duration)
            case pause(Duration)
            case wait(Gate)
            case receive(Int64)
            case close
            case reset
            case hang
        }

        let action: Action

        static func response(_ status: HTTPResponse.Status, _ fields: RawFields, _ content: Content) -> Step {
            Step(action: .response(status, fields, content))
        }

        /// Sends bytes as they are.
        public static func raw(_ bytes: some OriginBytes) -> Step { Step(action: .write(bytes.originBytes)) }

        /// Sends a status line and these field lines alone, of a final response or of an informational one (1xx).
        public static func head(_ status: HTTPResponse.Status, _ fields: RawFields = [:]) -> Step {
            Step(action: .head(status, fields))
        }

        /// Sends a chunk of the chunked coding; one without bytes is the last chunk, and lacks the line after the trailers.
        public static func chunk(_ bytes: some OriginBytes) -> Step { raw(bytes.originBytes.chunk) }

        /// Sends the end of the chunked coding, with these field lines after the last chunk.
        public static func lastChunk(trailers: RawFields = [:]) -> Step { raw("0\r\n\(trailers.serialized)\r\n") }

        /// Sends the first bytes of ``BytePattern``, as many as `count`, as fast as the client reads and without holding them.
        public static func generated(_ count: Int64) -> Step { Step(action: .generate(max(0, count))) }

        /// Sends bytes, `count` at a time, with a pause on the origin's clock between; a count below one counts as one.
        public static func trickle(_ bytes: some OriginBytes, by count: Int = 1, every interval: Duration) -> Step {
            Step(action: .trickle(bytes.originBytes, pieceSize: max(1, count), interval: interval))
        }

        /// Waits on the origin's clock.
        public static func pause(_ duration: Duration) -> Step { Step(action: .pause(duration)) }

        /// Waits at a gate until the test lets the script pass.
        public static func wait(_ gate: Gate) -> Step { Step(action: .wait(gate)) }

        /// Reads the request's body to its end, in an answer that is given after the head.
        public static let receiveBody = receive(atLeast: .max)

        /// Reads the request's body, in an answer that is given after the head, until it has ended or so many bytes of it
        /// have arrived in total.
        public static func receive(atLeast count: Int64) -> Step { Step(action: .receive(count)) }

        /// Closes the connection in order, whatever was promised.
        ///
        /// If the request has not been read to its end, the origin sends no more, and drops further bytes until the client
        /// closes too; use ``reset`` for a server that breaks an upload off.
        public static let close = Step(action: .close)
        /// Resets the connection, so that the client's system reports an error.
        public static let reset = Step(action: .reset)
        /// Does nothing until the client gives up or the origin stops.
        public static let hang = Step(action: .hang)
    }
}

extension Data {
    /// The bytes as a chunk of the chunked coding.
    var chunk: Data { Data("\(String(count, radix: 16))\r\n".utf8) + self + Data("\r\n".utf8) }
}

extension LoopbackOrigin.Answer: SecretHolder {
    /// The steps, as they describe themselves.
    public var description: String { steps.map(\.description).joined(separator: ", ") }
}

extension LoopbackOrigin.Step: SecretHolder {
    /// The kind of the step, without the bytes that are sent.
    public var description: String {
        switch action {
        case .response(let status, let fields, let content): "\(status.code) \(fields), \(content)"
        case .serve(let content): "content of \(content.data.count) bytes"
        case .head(let status, let fields): "head \(status.code) \(fields)"
        case .write(let data): "\(data.count) bytes"
        case .generate(let count): "\(count) generated bytes"
        case .trickle(let data, let size, let interval): "\(data.count) bytes, \(size) every \(interval)"
        case .pause(let duration): "pause of \(duration)"
        case .wait: "wait"
        case .receive(let count): count == .max ? "receive the body" : "receive \(count) bytes"
        case .close: "close"
        case .reset: "reset"
        case .hang: "hang"
        }
    }
}

extension LoopbackOrigin.Step.Content: CustomStringConvertible {
    var description: String {
        switch self {
        case .bytes(let data): "\(data.count) bytes"
        case .chunks(let chunks, let trailers): "\(chunks.count) chunks, trailers \(trailers)"
        case .untilClose(let data): "\(data.count) bytes until it closes"
        case .generated(let count, let isChunked): "\(count) generated bytes" + (isChunked ? " in chunks" : "")
        }
    }
}
