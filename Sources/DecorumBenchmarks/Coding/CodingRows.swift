import Decorum
import DecorumCompression
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
            Row(name: "coding/zlib") { count in
                for _ in 0..<count { try inflate(coded) }
            },
            Row(name: "coding/decompressing", baseline: "coding/zlib") { count in
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

/// A transport in memory whose responses have a coded body, in chunks as those of a network.
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
