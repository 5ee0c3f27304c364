import Decorum
import Foundation
import HTTPTypes

/// A transport in memory whose responses have a body that is read once, chunk by chunk, like those of real transports.
struct StreamingConnection: Connection {
    private let chunk = Data(repeating: 0x78, count: 100)
    private let fields: HTTPFields

    init(fields: HTTPFields = [:]) {
        self.fields = HTTPFields(
            [.init(name: .contentType, value: "text/plain"), .init(name: .contentLength, value: "100")] + fields)
    }

    @inline(never) func send(_ request: consuming Request) async throws -> Response {
        request.reportSending()
        let chunk = chunk
        return Response(
            status: .ok, fields: fields,
            body: Body(length: 100, replay: .once) { _ in ChunkReader(chunk: chunk) })
    }
}

private struct ChunkReader: BodyReader {
    var chunk: Data?

    mutating func next() -> Data? { chunk.take() }

    var trailers: HTTPFields? { nil }
}

extension Row {
    /// A row that sends a request through a connection and reads the body of the response.
    init(
        _ name: String, over baseline: String? = nil, bounds: Bound..., reading request: Request,
        through connection: any Connection
    ) {
        self.init(name: name, baseline: baseline, bounds: bounds) { count in
            for _ in 0..<count { _ = try await connection.send(request).body.data(upTo: 1000) }
        }
    }
}
