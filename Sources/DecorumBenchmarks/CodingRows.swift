import Decorum
import DecorumCompression
import DecorumEndpoints
import Foundation
import HTTPTypes

/// The cost of decoding a body of 64 KiB in gzip, beside zlib alone.
enum CodingRows {
    private static let length = 64 << 10

    static func rows() throws -> [Row] {
        let coded = try gzip(text)
        let request = try Request.sample()
        let connection = CodedConnection(coded: coded).decompressing()
        return [
            Row("coding/zlib") { count in
                for _ in 0..<count { try inflate(coded) }
            },
            Row("coding/decompressing", over: "coding/zlib") { count in
                for _ in 0..<count { _ = try await connection.send(request).body.data(upTo: length) }
            },
        ]
    }

    /// Lines of numbers and words, which gzip shortens as much as a typical document.
    private static let text: Data = {
        let generator = SeededGenerator(seed: 1952)
        let words = ["cache", "origin", "request", "response", "field", "trailer", "validator", "proxy"]
        var text = ""
        while text.utf8.count < length {
            let number = generator.next()
            text +=
                #"{"id": \#(number % 100_000), "name": "\#(words[Int(number % 8)]) \#(words[Int(number >> 8 % 8)])"},"#
        }
        return Data(text.utf8.prefix(length))
    }()

    private static func gzip(_ data: Data) throws -> Data {
        guard let encoder = unsafe decorum_encoder_create(DECORUM_FORMAT_GZIP, 6) else {
            throw BenchmarkFailure("There is no zlib.")
        }
        defer { unsafe decorum_encoder_free(encoder) }
        return unsafe run(data) { unsafe decorum_encode(encoder, &$0, DECORUM_FLUSH_END) }
    }

    private static func inflate(_ data: Data) throws {
        guard let decoder = unsafe decorum_decoder_create(DECORUM_FORMAT_GZIP) else {
            throw BenchmarkFailure("There is no zlib.")
        }
        defer { unsafe decorum_decoder_free(decoder) }
        let count = unsafe run(data) { unsafe decorum_decode(decoder, &$0) }.count
        guard count == length else { throw BenchmarkFailure("\(count) bytes were decoded.") }
    }

    /// Runs a coder once, on all of the input, into as much room as the content needs.
    private static func run(_ data: Data, _ coder: (inout decorum_buffers) -> decorum_step) -> Data {
        var output = Data(count: length + 1)
        let count = unsafe output.withUnsafeMutableBytes { room in
            unsafe data.withUnsafeBytes { bytes in
                var buffers = unsafe decorum_buffers(
                    input: bytes.bindMemory(to: UInt8.self).baseAddress, input_count: bytes.count,
                    output: room.bindMemory(to: UInt8.self).baseAddress, output_count: room.count)
                _ = unsafe coder(&buffers)
                return unsafe room.count - buffers.output_count
            }
        }
        return output.prefix(count)
    }
}

/// A transport in memory whose responses have a coded body, in chunks like the ones of a network.
private struct CodedConnection: Connection {
    let coded: Data

    @inline(never) func send(_ request: consuming Request) async throws -> Response {
        request.reportSending()
        let coded = coded
        return Response(
            status: .ok, fields: [.contentType: "application/json", .contentEncoding: "gzip"],
            body: Body(length: Int64(coded.count), replay: .once) { _ in CodedReader(rest: coded) })
    }
}

private struct CodedReader: BodyReader {
    var rest: Data

    mutating func next() -> Data? {
        guard !rest.isEmpty else { return nil }
        defer { rest = rest.dropFirst(16 << 10) }
        return rest.prefix(16 << 10)
    }

    var trailers: HTTPFields? { nil }
}

/// The cost of a typed call above the same request, made once, and the decoding of its answer.
enum CallRows {
    private struct Item: Codable {
        let id: Int
        let name: String
    }

    /// A connection as an app holds it, whose type the compiler does not know.
    @inline(never) private static func held(_ connection: any Connection) -> any Connection { connection }

    static func rows() throws -> [Row] {
        let memory = MemoryConnection(
            fields: [.contentType: "application/json"], content: #"{"id": 17, "name": "swift"}"#)
        let api = held(try memory.calling(at: "https://api.example.com/v1/"))
        let resolving = held(try memory.resolving(against: "https://api.example.com/v1/"))
        let request = try Request.get("https://api.example.com/v1/repos/apple/swift")
        return [
            Row("calls/decoding") { count in
                let decoder = JSONDecoder()
                for _ in 0..<count {
                    let response = try await memory.send(request)
                    _ = try decoder.decode(Item.self, from: try await response.body.data(upTo: 1 << 20))
                }
            },
            Row("calls/by hand", over: "calls/decoding", bounds: [.instructionsPerLayer: 18_700]) { count in
                for _ in 0..<count {
                    let path = "repos/\(PercentCoding.encode("apple"))/\(PercentCoding.encode("swift"))"
                    _ = try await resolving.send(.get(path)).decode(Item.self, upTo: 1 << 20)
                }
            },
            Row("calls/typed", over: "calls/decoding", bounds: [.instructionsPerLayer: 23_600]) { count in
                for _ in 0..<count {
                    _ = try await api.value(
                        of: Endpoint<Item>.get("repos/{owner}/{name}", ["owner": "apple", "name": "swift"]))
                }
            },
            Row("calls/multipart, 1 MiB", bounds: [.instructions: 582_000]) { count in
                let file = Body(Data(repeating: 7, count: 1 << 20))
                for _ in 0..<count {
                    var form: Multipart = ["title": "Summer", "public": true]
                    form.append("film", file, named: "summer.mov")
                    var length = 0
                    for try await chunk in Body(multipart: form) { length += chunk.count }
                    guard length > 1 << 20 else { throw BenchmarkFailure("\(length) bytes were made.") }
                }
            },
        ]
    }
}

/// The cost of reading a mebibyte of server-sent events, in chunks like the ones of a network.
enum EventStreamRows {
    private static let length = 1 << 20

    static func rows() -> [Row] {
        [row("events/1 MiB in short events", dataLength: 120), row("events/1 MiB in long events", dataLength: 4000)]
    }

    private static func row(_ name: String, dataLength: Int) -> Row {
        let chunks = chunks(dataLength: dataLength)
        return Row(name) { count in
            for _ in 0..<count {
                var parser = EventStreamParser()
                var bytes = 0
                for chunk in chunks {
                    parser.append(chunk)
                    while let event = try parser.next() { bytes += event.data.utf8.count }
                }
                guard bytes > length / 2 else { throw BenchmarkFailure("\(bytes) bytes were read.") }
            }
        }
    }

    private static func chunks(dataLength: Int) -> [Data] {
        let words = String(repeating: "the next words of an answer ", count: dataLength / 28)
        var text = ""
        var number = 0
        while text.utf8.count < length {
            number += 1
            text += "id: \(number)\nevent: delta\ndata: \(words)\n\n"
        }
        let bytes = Data(text.utf8.prefix(length))
        return stride(from: 0, to: length, by: 16 << 10).map { Data(bytes[$0..<min($0 + (16 << 10), length)]) }
    }
}
