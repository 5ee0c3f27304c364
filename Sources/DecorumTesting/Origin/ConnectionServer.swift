import Decorum
import Foundation
import HTTPTypes

/// Serves the requests of one connection, one after the other.
struct ConnectionServer {
    let channel: Channel
    let book: AnswerBook
    let ledger: OriginLedger
    let clock: any DatedClock
    var parser: RequestParser

    /// The request that is being received or answered.
    var exchange: Exchange?

    struct Exchange {
        let number: Int
        let request: ReceivedRequest
        /// Whether the version and the fields of the request ask to keep the connection, and no answer forbids it.
        var keepsConnection: Bool
        var expectsContinue: Bool
        var receivedLength: Int64 = 0
        var isReceived = false
        var isAnswered = false
    }

    mutating func serve() async {
        do {
            while try await serveNext() {}
            await close()
        } catch ConnectionEnd.close {
            await close()
        } catch ConnectionEnd.reset {
            channel.socket.resetOnClose()
            channel.close()
        } catch let error as RequestSyntaxError {
            await reject(error)
        } catch {
            channel.close()
        }
    }

    /// Serves one request and returns whether the connection may serve another one.
    private mutating func serveNext() async throws -> Bool {
        guard let head = try await receiveHead() else { return false }
        let request = ReceivedRequest(head, connection: channel.number)
        let number = ledger.begin(request)
        defer { ledger.release(number) }
        exchange = Exchange(
            number: number, request: request, keepsConnection: request.wantsConnectionKept,
            expectsContinue: request.expectsContinue)

        let entry = book.takeEntry(for: request)
        if entry.moment == .afterBody { try await receiveBody() }
        let answer = await answer(of: entry, to: ledger.request(number) ?? request)
        exchange?.isAnswered = true
        try await perform(answer)

        // A client that got an answer before a 100 Continue may or may not send the body.
        guard exchange?.expectsContinue != true, exchange?.keepsConnection == true else { return false }
        try await receiveBody()
        exchange = nil
        return true
    }

    private func answer(of entry: AnswerBook.Entry, to request: ReceivedRequest) async -> LoopbackOrigin.Answer {
        do {
            return try await entry.answer(request)
        } catch is CancellationError {
            return .closing
        } catch {
            return LoopbackOrigin.Answer(.internalServerError, body: "The route threw \(error)\n")
        }
    }

    /// Closes the connection after all bytes were sent.
    private mutating func close() async {
        if parser.hasUnreadBytes || exchange?.isReceived == false {
            // Closing with unread bytes would send a reset, which may destroy the answer before the client has read it.
            channel.socket.endWriting()
            while await channel.receive() != nil {}
        }
        channel.close()
    }

    private mutating func reject(_ error: RequestSyntaxError) async {
        ledger.reject(error)
        if exchange?.isAnswered != true {
            let answer = LoopbackOrigin.Answer(error.status, fields: ["Connection": "close"], body: "\(error)\n")
            try? await perform(answer)
        }
        channel.socket.endWriting()
        while await channel.receive() != nil {}
        channel.close()
    }
}

/// Receives requests.
extension ConnectionServer {
    private mutating func receiveHead() async throws -> RequestParser.Head? {
        while true {
            switch try parser.next() {
            case .head(let head): return head
            case .body, .end: break
            case nil:
                guard let bytes = await channel.receive() else { return nil }
                parser.feed(bytes)
            }
        }
    }

    mutating func receiveBody(atLeast count: Int64 = .max) async throws {
        while let current = exchange, !current.isReceived, current.receivedLength < count {
            switch try parser.next() {
            case .body(let bytes):
                exchange?.receivedLength += Int64(bytes.count)
                exchange?.expectsContinue = false
                ledger.append(bytes, raw: parser.takeRawBytes() ?? bytes, to: current.number)
            case .end(let trailers):
                exchange?.isReceived = true
                exchange?.expectsContinue = false
                ledger.end(current.number, raw: parser.takeRawBytes() ?? [], trailers: trailers)
            case .head: break
            case nil:
                if exchange?.expectsContinue == true {
                    exchange?.expectsContinue = false
                    try await channel.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
                }
                guard let bytes = await channel.receive() else { throw ChannelError() }
                parser.feed(bytes)
            }
        }
    }
}

extension ReceivedRequest {
    fileprivate var wantsConnectionKept: Bool {
        guard !fields.has("close", in: "Connection") else { return false }
        return version != "HTTP/1.0" || fields.has("keep-alive", in: "Connection")
    }

    fileprivate var expectsContinue: Bool {
        version != "HTTP/1.0" && fields.has("100-continue", in: "Expect")
    }
}

/// A script asks to end the connection.
enum ConnectionEnd: Error {
    case close
    case reset
}

/// Performs the steps of an answer.
extension ConnectionServer {
    mutating func perform(_ answer: LoopbackOrigin.Answer) async throws {
        for step in answer.steps {
            try await perform(step.action)
        }
    }

    private mutating func perform(_ action: LoopbackOrigin.Step.Action) async throws {
        switch action {
        case .response(let status, let fields, let content): try await respond(status, fields, content)
        case .serve(let content):
            guard let request = exchange?.request else { return }
            let (status, fields, part) = content.answer(to: request.head)
            try await respond(status, RawFields(fields), .bytes(part))
        case .head(let status, let fields):
            if status == .continue { exchange?.expectsContinue = false }
            if fields.has("close", in: "Connection") { exchange?.keepsConnection = false }
            try await channel.send(.head(status, fields))
        case .write(let bytes): try await channel.send(bytes)
        case .generate(let count): try await generate(count)
        case .trickle(let bytes, let pieceSize, let interval):
            for start in stride(from: 0, to: bytes.count, by: pieceSize) {
                if start > 0 { try await clock.sleep(for: interval) }
                try await channel.send(bytes, in: start..<min(start + pieceSize, bytes.count))
            }
        case .pause(let duration): try await clock.sleep(for: duration)
        case .wait(let gate): try await gate.wait()
        case .receive(let count): try await receiveBody(atLeast: count)
        case .close: throw ConnectionEnd.close
        case .reset: throw ConnectionEnd.reset
        case .hang: try await Gate().wait()
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
        guard framing.hasContent else { return try await channel.send(head) }
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
