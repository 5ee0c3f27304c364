#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

extension Subject {
    /// The clients on SwiftNIO; the ratios of AsyncHTTPClient compare it with `CurlConnection`.
    static let asyncHTTPClient: [Subject] =
        [Subject(name: "AsyncHTTPClient", baseline: "CurlConnection") { _ in BareAsyncHTTPClient() }]
        + connections("AsyncHTTPClientConnection", over: "AsyncHTTPClient") {
            AsyncHTTPClientConnection(connectionsPerHost: Exchanging.connections)
        }
}

/// AsyncHTTPClient, used directly as by an app without Decorum.
struct BareAsyncHTTPClient: Client {
    private let client: HTTPClient

    init() {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Exchanging.connections
        client = HTTPClient(configuration: configuration)
    }

    func get(_ url: String) async throws {
        let response = try await execute(request(url))
        let data = try await response.body.collect(upTo: 1 << 20)
        guard data.readableBytes > 0 else { throw BenchmarkFailure("The answer is empty.") }
    }

    func download(_ url: String) async throws -> Int64 {
        var count: Int64 = 0
        for try await part in try await execute(request(url)).body { count += Int64(part.readableBytes) }
        return count
    }

    func upload(_ file: URL, to url: String) async throws {
        let handle = try FileHandle(forReadingFrom: file)
        let size = try handle.seekToEnd()
        try handle.seek(toOffset: 0)
        var request = request(url)
        request.method = .PUT
        request.body = .stream(FilePieces(handle: handle), length: .known(Int64(size)))
        _ = try await execute(request).body.collect(upTo: 1 << 20)
    }

    private func request(_ url: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url)
        for field in Self.fields { request.headers.add(name: field.name.rawName, value: field.value) }
        return request
    }

    private func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        let response = try await client.execute(request, timeout: .minutes(5))
        guard response.status == .ok else { throw BenchmarkFailure("The status is \(response.status).") }
        return response
    }
}

/// A file in pieces of 64 KiB.
private struct FilePieces: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private static let pieceSize = 64 << 10

    let handle: FileHandle

    func makeAsyncIterator() -> FilePieces { self }

    func next() async throws -> ByteBuffer? {
        // Not with a function of `FileHandle`, which on Linux reads 4 KiB at a time.
        var buffer = ByteBufferAllocator().buffer(capacity: Self.pieceSize)
        let count = unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceSize) { bytes in
            unsafe Swift.max(0, read(handle.fileDescriptor, bytes.baseAddress, Self.pieceSize))
        }
        return count == 0 ? nil : buffer
    }
}
#else
extension Subject {
    /// Empty without the package trait `AsyncHTTPClient`.
    static let asyncHTTPClient: [Subject] = []
}
#endif
