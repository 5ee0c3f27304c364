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

        /// Adds steps before the steps of this answer, such as a pause or a `103 Early Hints`.
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
    }
}

/// Steps that send bytes.
extension LoopbackOrigin.Step {
    /// Sends bytes as they are.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: The step.
    public static func raw(_ bytes: Data) -> Self {
        Self(action: .write(bytes))
    }

    /// Sends text as it is.
    ///
    /// - Parameter text: The text, sent in UTF-8.
    /// - Returns: The step.
    public static func raw(_ text: String) -> Self {
        raw(Data(text.utf8))
    }

    /// Sends a status line and field lines, of a final response or of an informational one (1xx).
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The field lines; nothing is added.
    /// - Returns: The step.
    public static func head(_ status: HTTPResponse.Status, _ fields: RawFields = [:]) -> Self {
        Self(action: .head(status, fields))
    }

    /// Sends a chunk of the chunked coding; one without bytes is the last chunk, and lacks the line after the trailers.
    ///
    /// - Parameter bytes: The content of the chunk.
    /// - Returns: The step.
    public static func chunk(_ bytes: Data) -> Self {
        raw(bytes.chunk)
    }

    /// Sends a chunk of the chunked coding; one without bytes is the last chunk, and lacks the line after the trailers.
    ///
    /// - Parameter text: The content of the chunk, sent in UTF-8.
    /// - Returns: The step.
    public static func chunk(_ text: String) -> Self {
        chunk(Data(text.utf8))
    }

    /// Sends the end of the chunked coding.
    ///
    /// - Parameter trailers: The field lines after the last chunk.
    /// - Returns: The step.
    public static func lastChunk(trailers: RawFields = [:]) -> Self {
        raw("0\r\n\(trailers.serialized)\r\n")
    }

    /// Sends the first bytes of ``BytePattern``, as fast as the client reads and without holding them in memory.
    ///
    /// - Parameter count: The number of bytes.
    /// - Returns: The step.
    public static func generated(_ count: Int64) -> Self {
        Self(action: .generate(max(0, count)))
    }

    /// Sends bytes a few at a time, with a pause between.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - count: The number of bytes to send at a time; less than one counts as one.
    ///   - interval: The pause between, on the origin's clock.
    /// - Returns: The step.
    public static func trickle(_ bytes: Data, by count: Int = 1, every interval: Duration) -> Self {
        Self(action: .trickle(bytes, pieceSize: max(1, count), interval: interval))
    }

    /// Sends text a few bytes at a time, with a pause between.
    ///
    /// - Parameters:
    ///   - text: The text, sent in UTF-8.
    ///   - count: The number of bytes to send at a time; less than one counts as one.
    ///   - interval: The pause between, on the origin's clock.
    /// - Returns: The step.
    public static func trickle(_ text: String, by count: Int = 1, every interval: Duration) -> Self {
        trickle(Data(text.utf8), by: count, every: interval)
    }
}

/// Steps that wait, or read the request.
extension LoopbackOrigin.Step {
    /// Waits on the origin's clock.
    ///
    /// - Parameter duration: The length of the pause.
    /// - Returns: The step.
    public static func pause(_ duration: Duration) -> Self {
        Self(action: .pause(duration))
    }

    /// Waits at a gate until the test lets the script pass.
    ///
    /// - Parameter gate: The gate.
    /// - Returns: The step.
    public static func wait(_ gate: Gate) -> Self {
        Self(action: .wait(gate))
    }

    /// Reads the request's body to its end, in an answer that is given after the head.
    public static let receiveBody = receive(atLeast: .max)

    /// Reads a part of the request's body, in an answer that is given after the head.
    ///
    /// - Parameter count: The number of bytes of content that must have arrived in total; fewer where the body ends before.
    /// - Returns: The step.
    public static func receive(atLeast count: Int64) -> Self {
        Self(action: .receive(count))
    }
}

/// Steps that end the connection.
extension LoopbackOrigin.Step {
    /// Closes the connection in order, whatever was promised.
    ///
    /// Where the request has not been read to its end, the origin sends no more, and drops further bytes until the client
    /// closes too; use ``reset`` for a server that breaks an upload off.
    public static let close = Self(action: .close)
    /// Resets the connection, so that the client's system reports an error.
    public static let reset = Self(action: .reset)
    /// Does nothing until the client gives up or the origin stops.
    public static let hang = Self(action: .hang)
}

extension Data {
    /// The bytes as a chunk of the chunked coding.
    var chunk: Data {
        Data("\(String(count, radix: 16))\r\n".utf8) + self + Data("\r\n".utf8)
    }
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
