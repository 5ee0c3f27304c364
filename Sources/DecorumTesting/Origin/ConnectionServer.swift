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

    init(channel: Channel, book: AnswerBook, ledger: OriginLedger, clock: any DatedClock, headLimit: Int) {
        self.channel = channel
        self.book = book
        self.ledger = ledger
        self.clock = clock
        parser = RequestParser(headLimit: headLimit)
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
        let answer = await answer(of: entry, to: currentRequest ?? request)
        exchange?.isAnswered = true
        try await perform(answer)

        guard exchange?.expectsContinue != true else {
            // The client got an answer before a 100 Continue, so it may or may not send the body.
            return false
        }
        guard exchange?.keepsConnection == true else { return false }
        try await receiveBody()
        exchange = nil
        return true
    }

    private var currentRequest: ReceivedRequest? {
        exchange.flatMap { ledger.request($0.number) }
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
            case .head:
                break
            case nil:
                try await sendContinueIfExpected()
                guard let bytes = await channel.receive() else { throw ChannelError() }
                parser.feed(bytes)
            }
        }
    }

    private mutating func sendContinueIfExpected() async throws {
        guard exchange?.expectsContinue == true else { return }
        exchange?.expectsContinue = false
        try await channel.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
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
