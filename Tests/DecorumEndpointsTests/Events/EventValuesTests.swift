import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// The events of an endpoint, whose errors and values are those of its API.
@Suite struct EventValuesTests {
    private struct Problem: Decodable, Sendable { let errorCode: String }
    private struct Token: Decodable, Equatable, Sendable { let textPart: String }

    private static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }()
    private let api = API(decoder: decoder, problem: Problem.self)
    private let answers = Endpoint<Void>.post("https://api.example.com/answers", content: .text("Why?"))

    private func response(_ text: String) -> Response {
        Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(Data(text.utf8)))
    }

    private let tokens =
        #"data: {"text_part": "a"}\#n\#ndata: {"text_part": "b"}\#n\#ndata: [DONE]\#n\#ndata: never\#n\#n"#

    @Test func `Another status is the API's own error, whatever validates statuses further in`() async throws {
        let refusal = Response(
            status: .tooManyRequests, fields: [.contentType: "application/json"], body: #"{"error_code": "busy"}"#)
        let stub = StubConnection { _ in refusal }
        for connection in [stub.validatingStatus().calling(api) as any Connection, stub.calling(api)] {
            let error = await #expect(throws: RefusalError.self) {
                for try await _ in try connection.events(of: answers) {}
            }
            #expect(error?.status == .tooManyRequests)
            #expect(error?.problem(as: Problem.self)?.errorCode == "busy")
        }
    }

    @Test func `The API of an endpoint counts before that of the connection`() async throws {
        var endpoint = answers
        endpoint.api = api
        let stub = StubConnection(Response(status: .forbidden, body: #"{"error_code": "quota"}"#))
        let error = await #expect(throws: RefusalError.self) { for try await _ in try stub.events(of: endpoint) {} }
        #expect(error?.problem(as: Problem.self)?.errorCode == "quota")
    }

    @Test func `Values are decoded by the API's decoder up to the event that ends them`() async throws {
        let stub = StubConnection(response(tokens))
        let values = try stub.calling(api).events(of: answers).values(of: Token.self, until: "[DONE]")
        #expect(try await values.reduce(into: []) { $0.append($1.textPart) } == ["a", "b"])
        #expect(stub.requests.count == 1)
    }

    @Test func `A decoder that is given counts, and data of another kind is an error with its place`() async throws {
        struct Plain: Decodable, Sendable {
            let part: String
            enum CodingKeys: String, CodingKey { case part = "text_part" }
        }
        let stub = StubConnection { _ in response(tokens) }
        let events = try stub.calling(api).events(of: answers)
        var parts: [String] = []
        let error = await #expect(throws: ResponseDecodingError.self) {
            for try await value in events.values(of: Plain.self, using: JSONDecoder()) { parts.append(value.part) }
        }
        #expect(parts == ["a", "b"])
        #expect(error?.description.contains("DONE") == false)
    }

    @Test func `The last value, and a reader that stops, end the transfer`() async throws {
        for count in [1, 3] {
            let transfer = GatedTransfer.open
            let whole = transfer.body(chunks: 100)
            let text = tokens
            let body = Body(replay: .once) { _ in EventReader(reader: try await whole.open(), text: text) }
            let stub = StubConnection(Response(status: .ok, fields: [.contentType: "text/event-stream"], body: body))
            var values = try stub.calling(api).events(of: answers)
                .values(of: Token.self, until: "[DONE]").makeAsyncIterator()
            for _ in 1..<count { #expect(try await values.next() != nil) }
            #expect(try await (values.next() == nil) == (count == 3))
            if count == 3 { #expect(try await values.next() == nil) }
            #expect(transfer.chunksRead == 1)
        }
    }
}

/// Has a text for each chunk.
private struct EventReader: BodyReader {
    var reader: any BodyReader
    let text: String
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        try await reader.next().map { _ in Data(text.utf8) }
    }
}
