import Decorum
import Foundation
import HTTPTypes

/// Performs the steps of an answer.
extension ConnectionServer {
    mutating func perform(_ answer: LoopbackOrigin.Answer) async throws {
        for step in answer.steps {
            try await perform(step.action)
        }
    }

    private mutating func perform(_ action: LoopbackOrigin.Step.Action) async throws {
        switch action {
        case .response(let status, let fields, let content):
            try await respond(status, fields, content)
        case .head(let status, let fields):
            noteHead(status, fields)
            try await channel.send(.head(status, fields))
        case .write(let bytes):
            try await channel.send(bytes)
        case .generate(let count):
            try await generate(count)
        case .trickle(let bytes, let pieceSize, let interval):
            for start in stride(from: 0, to: bytes.count, by: pieceSize) {
                if start > 0 { try await clock.sleep(for: interval) }
                try await channel.send(bytes, in: start..<min(start + pieceSize, bytes.count))
            }
        case .pause(let duration):
            try await clock.sleep(for: duration)
        case .wait(let gate):
            try await gate.wait()
        case .receive(let count):
            try await receiveBody(atLeast: count)
        case .close:
            throw ConnectionEnd.close
        case .reset:
            throw ConnectionEnd.reset
        case .hang:
            try await Gate().wait()
        }
    }

    private mutating func respond(
        _ status: HTTPResponse.Status, _ fields: RawFields, _ content: LoopbackOrigin.Step.Content
    ) async throws {
        let framing = ResponseFraming(
            status: status, fields: fields, content: content, method: exchange?.request.method,
            version: exchange?.request.version ?? "HTTP/1.1", keepsConnection: exchange?.keepsConnection ?? false)
        exchange?.keepsConnection = framing.keepsConnection
        let head = Data.head(status, framing.fields)
        guard framing.hasContent else {
            try await channel.send(head)
            return
        }
        switch content {
        case .bytes(let bytes), .untilClose(let bytes):
            try await channel.send(head, then: bytes)
        case .chunks(let chunks, let trailers):
            try await channel.send(head)
            for chunk in chunks where !chunk.isEmpty {
                try await channel.send(framing.isChunked ? chunk.chunk : chunk)
            }
            if framing.isChunked { try await channel.send(Data("0\r\n\(trailers.serialized)\r\n".utf8)) }
        case .generated(let count, _):
            try await channel.send(head)
            try await generate(count, isChunked: framing.isChunked)
        }
    }

    /// Sends the pattern from one block of memory, whatever the count.
    private func generate(_ count: Int64, isChunked: Bool = false) async throws {
        var rest = count
        while rest > 0 {
            let size = Int(min(rest, Int64(BytePattern.period)))
            if isChunked { try await channel.send(Data("\(String(size, radix: 16))\r\n".utf8)) }
            try await channel.send(BytePattern.block, in: 0..<size)
            if isChunked { try await channel.send(Data("\r\n".utf8)) }
            rest -= Int64(size)
        }
        if isChunked { try await channel.send(Data("0\r\n\r\n".utf8)) }
    }

    private mutating func noteHead(_ status: HTTPResponse.Status, _ fields: RawFields) {
        if status == .continue { exchange?.expectsContinue = false }
        if fields.has("close", in: "Connection") { exchange?.keepsConnection = false }
    }
}

extension Data {
    fileprivate static func head(_ status: HTTPResponse.Status, _ fields: RawFields) -> Data {
        Data("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n\(fields.serialized)\r\n".utf8)
    }
}

extension Channel {
    /// Sends both at once where that is cheap, so that a small response is one packet.
    fileprivate func send(_ head: Data, then content: Data) async throws {
        if content.count < 64 << 10 {
            try await send(head + content)
        } else {
            try await send(head)
            try await send(content)
        }
    }
}

/// The framing of a response's content (RFC 9112, section 6.3), and whether the connection is kept after it.
struct ResponseFraming {
    var fields: RawFields
    var hasContent: Bool
    var isChunked = false
    var keepsConnection: Bool

    init(
        status: HTTPResponse.Status, fields: RawFields, content: LoopbackOrigin.Step.Content,
        method: HTTPRequest.Method?, version: String, keepsConnection: Bool
    ) {
        let isBodiless = status.kind == .informational || status == .noContent || status == .notModified
        let isHTTP10 = version == "HTTP/1.0"
        hasContent = method != .head && !isBodiless
        self.fields = fields
        self.keepsConnection = keepsConnection && !fields.has("close", in: "Connection")

        switch content {
        case .bytes(let bytes):
            if !isBodiless { addLength(Int64(bytes.count)) }
        case .generated(let count, isChunked: false):
            if !isBodiless { addLength(count) }
        case .chunks, .generated(_, isChunked: true):
            isChunked = !isHTTP10
            if isChunked, !isBodiless { addField("Transfer-Encoding", "chunked") }
            if isHTTP10, hasContent { self.keepsConnection = false }
        case .untilClose:
            if hasContent { self.keepsConnection = false }
        }
        if !self.keepsConnection {
            addField("Connection", "close")
        } else if isHTTP10 {
            addField("Connection", "keep-alive")
        }
    }

    private mutating func addLength(_ length: Int64) {
        guard fields["Transfer-Encoding"] == nil else { return }
        addField("Content-Length", String(length))
    }

    /// Adds a field unless the test has set it.
    private mutating func addField(_ name: String, _ value: String) {
        guard fields[name] == nil else { return }
        fields.lines.append(.init(name: name, value: value))
    }
}
