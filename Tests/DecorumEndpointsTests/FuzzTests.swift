import DecorumTesting
import Foundation
import Testing

@testable import DecorumEndpoints

/// Parsers of what servers send get random and hostile bytes.
@Suite(.timeLimit(.minutes(3))) struct FuzzTests {
    private let generator = SeededGenerator(seed: 4096)

    private func number(below count: Int) -> Int { Int(generator.next() % UInt64(count)) }

    /// Bytes that are pieces of a format, with some that are random.
    private func bytes(of pieces: [String], count: Int) -> Data {
        (0..<count).reduce(into: Data()) { data, _ in
            if number(below: 8) == 0 {
                data.append(UInt8(truncatingIfNeeded: generator.next()))
            } else {
                data += Data(pieces[number(below: pieces.count)].utf8)
            }
        }
    }

    /// The bytes in pieces of random sizes, some of which are empty.
    private func split(_ bytes: Data) -> [Data] {
        var (rest, pieces) = (bytes[...], [Data]())
        while !rest.isEmpty {
            pieces.append(Data(rest.prefix(number(below: 9))))
            rest = rest.dropFirst(pieces.last?.count ?? 0)
        }
        return pieces
    }

    @Test func `Lines of JSON are the same in pieces of any size, and a fault names its line`() async throws {
        let pieces = [
            "{\"a\":1}\n", "{\"a\":2}\r\n", "\n", "{", "}", "\"", "a", "\\u12", "[", "null\n", " ", "é", "\0",
        ]
        var (good, bad) = (0, 0)
        for round in 0..<400 {
            let content = bytes(of: round % 2 == 0 ? pieces : Array(pieces.prefix(3)), count: 1 + number(below: 12))
            let whole = await rows([content])
            let parts = await rows(split(content))
            #expect(parts.values == whole.values && parts.line == whole.line)
            let expected = Self.reference(content)
            #expect(whole.values == expected.values && whole.line == expected.line)
            if whole.line == nil { good += 1 } else { bad += 1 }
        }
        #expect(good > 0 && bad > 0)
    }

    private struct Row: Decodable, Equatable, Sendable { let a: Int }

    private func rows(_ chunks: [Data]) async -> (values: [Row], line: Int?) {
        let stream = AsyncStream { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish()
        }
        var values: [Row] = []
        do {
            let response = Response(status: .ok, body: Body(chunks: stream))
            for try await row in response.jsonLines(of: Row.self, upTo: 1000) { values.append(row) }
            return (values, nil)
        } catch {
            return (values, (error as? JSONLineError)?.line ?? -1)
        }
    }

    private static func reference(_ content: Data) -> (values: [Row], line: Int?) {
        var values: [Row] = []
        for (index, line) in content.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            guard let row = try? JSONDecoder().decode(Row.self, from: Data(line)) else { return (values, index + 1) }
            values.append(row)
        }
        return (values, nil)
    }

    @Test(arguments: ["utf-8", "utf-16le", "utf-16be", "windows-1252"])
    func `Text is repaired, or an error`(charset: String) async throws {
        var faults = 0
        for _ in 0..<2000 {
            let content = Data((0..<number(below: 12)).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
            // A byte order mark would name another charset.
            guard ![0xEF, 0xFE, 0xFF].contains(content.first) else { continue }
            let repaired = try await text(content, charset, repairing: true)
            do {
                #expect(try await text(content, charset, repairing: false) == repaired)
            } catch is TextDecodingError {
                faults += 1
                #expect(repaired.contains("\u{FFFD}"))
            }
        }
        #expect(charset == "windows-1252" ? faults == 0 : faults > 100)
    }

    private func text(_ content: Data, _ charset: String, repairing: Bool) async throws -> String {
        let fields: HTTPFields = [.contentType: "text/plain; charset=\(charset)"]
        return try await Response(status: .ok, fields: fields, body: Body(content)).text(
            upTo: 100, repairing: repairing)
    }

    @Test func `A query that was read and written gives the same items`() throws {
        let pieces = ["a", "=", "&", "+", "%", "%2", "%2B", "%FF", "%C3%A9", ";", "#", "?", "é", " ", "\0", "\r\n"]
        for _ in 0..<3000 {
            let text = String(decoding: bytes(of: pieces, count: 20), as: UTF8.self)
            let query = try Query(parsing: text)
            #expect(try Query(parsing: query.text) == query)
            #expect(query.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
        }
        #expect(throws: InvalidRequestError.self) {
            try Query(parsing: String(repeating: "a&", count: 10_001))
        }
        #expect(try Query(parsing: String(repeating: "&", count: 100_000)).isEmpty)
    }

    @Test func `A name of a file that is quoted is read as it was, and any field gives a name or none`() throws {
        let pieces = [
            ";", "=", "\"", "\\", "filename", "filename*", "UTF-8''", "''", "%", "%2F", "é", " ", "\t", "a", "/",
        ]
        for _ in 0..<5000 {
            let name = String(decoding: bytes(of: pieces, count: 6), as: UTF8.self)
            let quoted = name.reduce(into: "") { $0 += ($1 == "\"" || $1 == "\\" ? "\\" : "") + String($1) }
            #expect(ContentDisposition("attachment; filename=\"\(quoted)\"; size=1").fileName == name)
            let disposition = ContentDisposition("attachment;" + name)
            #expect(disposition.fileName.map { SafeFileName($0)?.text.contains("/") != true } ?? true)
        }
    }
}
