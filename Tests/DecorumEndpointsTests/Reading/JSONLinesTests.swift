import DecorumDemo
import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite struct JSONLinesTests {
    private struct Row: Decodable, Equatable, Sendable { let a: Int }

    private func read(_ chunks: [Data], upTo limit: Int = 100) async throws -> (rows: [Row], error: JSONLineError?) {
        let stream = AsyncStream { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish()
        }
        let response = Response(status: .ok, body: Body(chunks: stream))
        var rows: [Row] = []
        do {
            for try await row in response.jsonLines(of: Row.self, upTo: limit) { rows.append(row) }
        } catch let error as JSONLineError {
            return (rows, error)
        }
        return (rows, nil)
    }

    @Test(arguments: [
        ("{\"a\":1}\n\n{\"a\":\"x\"}\n{\"a\":3}\n", 1, 3), ("{\"a\":1}\n{\"a\":2", 1, 2), ("<html>\n", 0, 1),
        ("{\"a\":1}\n{\"b\":2}\n", 1, 2),
    ])
    func `A fault names its line, after the lines before it`(text: String, count: Int, line: Int) async throws {
        let read = try await read([Data(text.utf8)])
        #expect(read.rows.count == count)
        #expect(read.error?.line == line)
        #expect(read.error?.underlying is ResponseDecodingError)
        #expect(read.error?.description.hasPrefix("Line \(line): ") == true)
    }

    @Test func `An endpoint reads lines with the decoder of its API`() async throws {
        struct Name: Decodable, Sendable { let firstName: String }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let stub = StubConnection { _ in
            Response(status: .ok, body: #"{"first_name": "a"}\#n{"first_name": "b"}"#)
        }
        let connection = try stub.calling(API(decoder: decoder), at: "https://api.example.com/")
        let lines = try await connection.value(of: Endpoint<JSONLines<Name>>(.get, "names", as: .jsonLines()))
        #expect(try await lines.reduce(into: []) { $0.append($1.firstName) } == ["a", "b"])
        #expect(stub.requests.first?.head.headerFields[.accept] == "application/jsonl, application/x-ndjson")
    }

    @Test func `Invalid UTF-8 is an error`() async throws {
        struct Name: Decodable, Sendable { let name: String }
        let content = Data("{\"name\":\"a\"}\n{\"name\":\"".utf8) + Data([0xFF]) + Data("\"}\n".utf8)
        let response = Response(status: .ok, body: Body(content))
        var count = 0
        let error = await #expect(throws: JSONLineError.self) {
            for try await _ in response.jsonLines(of: Name.self, upTo: 100) { count += 1 }
        }
        #expect(count == 1 && error?.line == 2)
    }

    @Test func `An endless line is an error after the lines before it`() async throws {
        let read = try await read(
            [Data("{\"a\":1}\n".utf8)] + Array(repeating: Data(repeating: 0x20, count: 50), count: 100))
        #expect(read.rows == [Row(a: 1)])
        #expect(read.error?.line == 2 && read.error?.underlying == nil)
        let whole = Data("{\"a\":1}\n".utf8) + Data(repeating: 0x20, count: 200) + Data("\n{\"a\":2}\n".utf8)
        let short = try await self.read([whole])
        #expect(short.rows == [Row(a: 1)] && short.error?.line == 2)
    }

    @Test func `Many lines in one chunk keep their order and their numbers`() async throws {
        let text = (0..<1000).map { "{\"a\":\($0)}\n" }.joined() + "x"
        let read = try await read([Data(text.utf8)])
        #expect(read.rows == (0..<1000).map { Row(a: $0) })
        #expect(read.error?.line == 1001)
    }

    @Test func `Leaving ends the transfer, and no more is read than needed`() async throws {
        let transfer = GatedTransfer.open
        let whole = transfer.body(chunks: 100)
        let response = Response(
            status: .ok, body: Body(replay: .once) { _ in RowReader(reader: try await whole.open()) })
        for try await row in response.jsonLines(of: Row.self, upTo: 100) {
            #expect(row == Row(a: 1))
            break
        }
        #expect(transfer.chunksRead == 1)
    }
}

private struct RowReader: BodyReader {
    var reader: any BodyReader
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        try await reader.next().map { _ in Data("{\"a\":1}\n".utf8) }
    }
}
