import Decorum
import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct ErrorListings {
    struct Item: Decodable {}

    @Test func decoding() async throws {
        let response = Response(status: .ok, body: "[{}]")
        let items = try await response.decode([Item].self, upTo: 1 << 20)
        #expect(items.count == 1)
    }

    func pages(of connection: any Connection) async throws -> [Item] {
        var items: [Item] = []
        var next: Request? = try .get("items?per_page=100")
        while let request = next {
            let response = try await connection.send(request)
            items += try await response.decode([Item].self, upTo: 1 << 20)
            next = try response.link("next").map { try .get($0.absoluteString) }
        }
        return items
    }

    @Test func messages() throws {
        let response = Response(status: .notFound)
        #expect(message(for: StatusError(method: .get, origin: nil, response: response)) == "This page is gone.")
        #expect(message(for: TransportError(.hostNotFound, at: .connecting)) == "You seem to be offline.")
        let lost = TransportError(.connectionLost, at: .head)
        #expect(message(for: lost) == "The server does not answer as it should.")
        #expect(message(for: CancellationError()) == nil)
    }

    func message(for error: any Error) -> String? {
        switch error {
        case is CancellationError: nil
        case let error as TransportError where error.tlsProblem == .expired: "Is the date of this device right?"
        case let error as TransportError where error.code == .hostNotFound: "You seem to be offline."
        case is TransportError: "The server does not answer as it should."
        case let error as StatusError where error.status == .notFound: "This page is gone."
        case let error as StatusError: error.problem ?? "The server has a problem."
        default: "Something went wrong."
        }
    }
}

@Suite struct MessageListings {
    private struct Problem: Decodable { let message: String }

    func message(for error: any Error) -> String? {
        switch error {
        case is CancellationError: nil
        case let error as TransportError where error.code == .tls: "There is no secure connection to the server."
        case let error as TransportError where error.stage != .connecting && error.method?.isSafe == false:
            "This may have been saved. Look before you send it again."
        case let error as TransportError where error.isTimeout: "The server takes too long."
        case let error as TransportError where error.meansServerNotReached: "There is no connection to the server."
        case is TransportError, is ContentCodingError, is RedirectionLoopError, is RedirectionLimitError,
            is BodyLimitError:
            "The server does not answer as it should."
        case let error as PacingError:  // nothing was sent
            "The server asks to wait until \(error.date.formatted(date: .omitted, time: .shortened))."
        case let error as RefusalError: error.problem(as: Problem.self)?.message ?? words(for: error.statusError)
        case let error as StatusError: words(for: error)  // of a plain request
        case let error as ResponseDecodingError where error.contentType?.hasPrefix("text/html") == true:
            "This network may want you to sign in: open a page in the browser."
        case is ResponseDecodingError: "The server sends something that this app does not understand."
        default: "Something went wrong."
        }
    }

    func words(for error: StatusError) -> String {
        switch (error.status.code, error.retryDate) {
        case (401, _): "Please sign in again."
        case (403, let date?), (429, let date?): "The limit is used up. Try again at \(date)."
        case (403, nil): "You are not allowed to do this."
        case (404, _), (410, _): "It does not exist."
        case (422, _) where !error.fieldProblems.isEmpty:
            "Please correct: \(error.fieldProblems.compactMap { $0.words ?? $0.name }.joined(separator: ", "))."
        case (500..., let date?): "The server is busy until \(date)."
        case (500..., nil) where !error.method.isSafe: "The server has a problem. Look whether this was saved."
        case (500..., nil): "The server has a problem. Try again later."
        default: error.problem ?? "The server refuses this."
        }
    }

    @Test func messages() async throws {
        let page = Response(status: .ok, fields: [.contentType: "text/html; charset=utf-8"], body: "<html></html>")
        let error = await #expect(throws: ResponseDecodingError.self) {
            try await page.decode([String].self, upTo: 1 << 10)
        }
        #expect(message(for: try #require(error))?.hasPrefix("This network may want") == true)
        let date = try #require(HTTPField.Name("Retry-After"))
        for (status, fields, text) in [
            (.unauthorized, [:], "Please sign in again."), (.forbidden, [:], "You are not allowed to do this."),
            (.tooManyRequests, [date: "60"], "The limit is used up. Try again at "),
            (.serviceUnavailable, [date: "60"], "The server is busy until "),
            (.badGateway, [:], "The server has a problem. Try again later."),
            (.conflict, [:], "The server refuses this."), (.unprocessableContent, [:], "The server refuses this."),
        ] as [(HTTPResponse.Status, HTTPFields, String)] {
            let connection = StubConnection(Response(status: status, fields: fields)).validatingStatus()
            let request = try Request.get("https://a.example/")
            let error = await #expect(throws: StatusError.self) { try await connection.send(request) }
            #expect(words(for: try #require(error)).hasPrefix(text), "\(status)")
        }
        for (code, text) in [
            (.tls, "There is no secure connection"), (.connectionLost, "This may have been saved."),
        ] as [(TransportError.Code, String)] {
            let error = TransportError.locate(TransportError(code, at: .head), at: nil, after: nil, method: .post)
            #expect(message(for: error)?.hasPrefix(text) == true)
        }
        #expect(message(for: TransportError(.deadlineExceeded, at: .head)) == "The server takes too long.")
    }
}
