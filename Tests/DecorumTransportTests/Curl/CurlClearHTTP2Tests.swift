#if os(Linux)
@testable import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// HTTP/2 without TLS, where the server is known to support it (RFC 9113, section 3.3).
    @Suite(.timeLimit(.minutes(3))) struct CurlClearHTTP2Tests {
        @Test(arguments: CurlBuild.all)
        func `Sequential and concurrent requests are answered`(build: CurlBuild) async throws {
            let server = try ClearHTTP2Server()
            let library = try build.library()
            let connection = try CurlConnection(library: library, protocols: .http2)
            for body in ["", "hello", "", "hello"] {
                let response = try await connection.send(
                    Request(body.isEmpty ? .get : .post, server.url + "/", body: Body(Data(body.utf8))))
                #expect(response.status == .ok)
                #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
                #expect(try await response.body.text(upTo: 10) == "ok")
            }
            #expect(server.connectionCount == (library.restartsHTTP2 ? 4 : 1))

            let request = try Request.get(server.url + "/")
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<16 {
                    group.addTask { try await connection.send(request).body.text(upTo: 10) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers == Array(repeating: "ok", count: 16))
        }

        @Test(arguments: CurlBuild.all)
        func `A priority is the weight of the stream, and is not left on the handle`(build: CurlBuild) async throws {
            let server = try ClearHTTP2Server()
            let connection = try CurlConnection(library: build.library(), protocols: .http2)
            let priorities: [TaskPriority?] = [.background, nil, .low, .high, nil]
            for priority in priorities {
                var request = try Request.get(server.url + "/")
                request.options.priority = priority
                #expect(try await connection.send(request).body.text(upTo: 10) == "ok")
            }
            // Without a priority, libcurl sends the weight of every stream, or none.
            #expect(server.weights.map { $0 ?? 16 } == [1, 16, 4, 256, 16])
        }
    }
}
#endif
