import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Coalescing over a real transport.
    @Suite(.timeLimit(.minutes(3))) struct CoalescedTransferTests {
        static let size: Int64 = 32 << 20

        let origin: LoopbackOrigin
        let connection: any Connection

        init() throws {
            origin = try LoopbackOrigin()
            origin.route(.get, "/large", .generated(count: Self.size))
            let policy = CoalescingPolicy(backlogLimit: 1 << 20, patience: .seconds(50))
            connection = SystemConnection().coalescing(policy)
        }

        @Test func `A large body is streamed once for many readers`() async throws {
            let responses = try await responses(8)
            try await withThrowingTaskGroup { group in
                for response in responses {
                    group.addTask {
                        var offset: Int64 = 0
                        for try await chunk in response.body {
                            #expect(BytePattern.matches(chunk, at: offset))
                            offset += Int64(chunk.count)
                        }
                        return offset
                    }
                }
                for try await count in group { #expect(count == Self.size) }
            }
            #expect(origin.requests.count == 1)
        }

        @Test func `The connection is closed when the last reader is dropped`() async throws {
            let bodies = try await responses(3).map(\.body)
            try await withThrowingTaskGroup { group in
                for body in bodies {
                    group.addTask {
                        var reader = try await body.open()
                        #expect(try await reader.next() != nil)
                    }
                }
                try await group.waitForAll()
            }
            try await origin.waitForOpenConnections(0)
            #expect(origin.requests.count == 1)
        }

        private func responses(_ count: Int) async throws -> [Response] {
            var responses: [Response] = []
            for _ in 0..<count { responses.append(try await connection.send(.get(origin.url + "/large"))) }
            return responses
        }
    }
}
