import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The bodies of responses that are read slowly, in part or not at all.
@Suite(.timeLimit(.minutes(3))) struct URLSessionStreamingTests {
    let connection = URLSessionConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
    }

    private func get() throws -> Request { try .get(origin.url + "/") }

    #if canImport(FoundationNetworking)
    // Where a slow reader holds the server back, the one connection stays busy, and nothing overflows.
    @Test func `A body whose reader is slow waits in the file and is read whole`() async throws {
        let connection = URLSessionConnection(connectionsPerHost: 1, backlog: .init(memory: 64 << 10))
        origin.enqueue(.generated(count: 8 << 20))
        let response = try await connection.send(get())
        // The one connection serves the next request once all of the first response has arrived.
        origin.enqueue(LoopbackOrigin.Answer())
        _ = try await connection.send(get())

        #expect(try await response.body.patternLength() == 8 << 20)
    }

    @Test func `A reader that is too far behind gets an error, and the transfer ends`() async throws {
        let connection = URLSessionConnection(backlog: .init(memory: 64 << 10, disk: 1 << 20))
        origin.enqueue(.generated(count: 1 << 40))
        let response = try await connection.send(get())
        try await origin.waitForOpenConnections(0)

        let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: .max) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.stage == .body)
    }
    #endif
}

extension Body {
    /// Reads the body and returns how many of its bytes are those of the pattern.
    fileprivate func patternLength() async throws -> Int64 {
        var offset: Int64 = 0
        for try await chunk in self {
            guard BytePattern.matches(chunk, at: offset) else { return offset }
            offset += Int64(chunk.count)
        }
        return offset
    }
}
