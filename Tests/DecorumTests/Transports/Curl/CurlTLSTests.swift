#if os(Linux)
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    @Suite(.timeLimit(.minutes(1)), .enabled(if: ServerProcess.openssl != nil, "openssl is not installed"))
    struct CurlTLSTests {
        private func status(
            _ url: String, _ change: (inout CurlConnection.TLS) throws -> Void
        ) async throws -> HTTPResponse.Status {
            var tls = CurlConnection.TLS()
            try change(&tls)
            let response = try await CurlConnection(tls: tls).send(.get(url + "/"))
            try await response.body.drain(upTo: 1 << 20)
            return response.status
        }

        private func expectRefusal(_ url: String, _ change: (inout CurlConnection.TLS) throws -> Void) async {
            let error = await #expect(throws: TransportError.self) { try await status(url, change) }
            #expect(error?.code == .tls)
            #expect(error?.stage == .connecting)
            #expect(error?.underlying is CurlError)
        }

        @Test func `A server is trusted for its root, in a file or in memory`() async throws {
            let server = try await ServerProcess.openssl()

            #expect(try await status(server.url) { $0.roots = .file(server.certificate) } == .ok)
            let text = try String(contentsOf: server.certificate, encoding: .utf8)
            #expect(try await status(server.url) { $0.roots = .pem(text) } == .ok)
            #expect(
                try await status("https://localhost:\(server.port)") { $0.roots = .file(server.certificate) } == .ok)
        }

        @Test func `A server that the roots do not lead to is refused`() async throws {
            let (server, other) = (try await ServerProcess.openssl(), try await ServerProcess.openssl())

            await expectRefusal(server.url) { _ in }
            await expectRefusal(server.url) { $0.roots = .file(other.certificate) }
            await expectRefusal(server.url) { $0.roots = .file(URL(filePath: "/nowhere.pem")) }
        }

        @Test func `A certificate for another host is refused`() async throws {
            let server = try await ServerProcess.openssl()
            var tls = CurlConnection.TLS()
            tls.roots = .file(server.certificate)
            let route = CurlConnection.Route(host: "other.decorum.invalid", port: server.port, addresses: ["127.0.0.1"])
            let connection = try CurlConnection(tls: tls, routes: [route])

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.get("https://other.decorum.invalid:\(server.port)/"))
            }
            #expect(error?.code == .tls)
            #expect(error?.stage == .connecting)
        }

        @Test func `A server has one of the pinned keys, or is refused`() async throws {
            let server = try await ServerProcess.openssl()
            let pin = try server.pin
            let other = Data(repeating: 7, count: 32)

            #expect(
                try await status(server.url) { tls in
                    tls.roots = .file(server.certificate)
                    tls.pinnedKeys = [other, pin]
                } == .ok)
            await expectRefusal(server.url) { tls in
                tls.roots = .file(server.certificate)
                tls.pinnedKeys = [other]
            }
            await expectRefusal(server.url) { $0.pinnedKeys = [pin] }
        }

        @Test func `A server that speaks too low a version is refused`() async throws {
            let server = try await ServerProcess.openssl("-tls1_2")

            #expect(try await status(server.url) { $0.roots = .file(server.certificate) } == .ok)
            await expectRefusal(server.url) { tls in
                tls.roots = .file(server.certificate)
                tls.minimumVersion = .tls13
            }
        }

        @Test func `A client shows its certificate to a server that asks for it`() async throws {
            let server = try await ServerProcess.openssl(
                "-tls1_2", "-Verify", "1", "-verify_return_error", "-CAfile", "certificate.pem")
            let certificate = try String(contentsOf: server.certificate, encoding: .utf8)
            let key = try String(contentsOf: server.key, encoding: .utf8)
            let identities: [CurlConnection.TLS.Identity] = [
                .files(certificate: server.certificate, key: server.key), .pem(certificate: certificate, key: key),
            ]

            for identity in identities {
                #expect(
                    try await status(server.url) { tls in
                        tls.roots = .file(server.certificate)
                        tls.identity = identity
                    } == .ok)
            }
            await #expect(throws: TransportError.self) {
                try await status(server.url) { $0.roots = .file(server.certificate) }
            }
        }

        @Test func `The timings tell how long the handshake took`() async throws {
            let server = try await ServerProcess.openssl()
            var tls = CurlConnection.TLS()
            tls.roots = .file(server.certificate)
            let response = try await CurlConnection(tls: tls).send(.get(server.url + "/"))

            #expect(try #require(response.metadata.timings?.handshake) > #require(response.metadata.timings?.connect))
        }
    }
}

extension IsolatedTests {
    @Suite(
        .timeLimit(.minutes(1)),
        .enabled(if: ServerProcess.openssl != nil && ServerProcess.nginx != nil, "nginx is not installed"))
    struct CurlHTTP2Tests {
        private static let count = 8 << 20

        private func start() async throws -> (ServerProcess, CurlConnection) {
            let server = try await ServerProcess.nginx([
                "large": BytePattern.bytes(Self.count), "small": Data("small".utf8),
            ])
            var tls = CurlConnection.TLS()
            tls.roots = .file(server.certificate)
            return (server, try CurlConnection(tls: tls))
        }

        @Test func `Sixty-four requests share one connection`() async throws {
            let (server, connection) = try await start()
            let url = server.url + "/connection"
            let connections = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<64 {
                    group.addTask { try await connection.send(.get(url)).body.text(upTo: 100) }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            let response = try await connection.send(.get(server.url + "/protocol"))

            #expect(connections.count == 1)
            #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
            #expect(try await response.body.text(upTo: 100) == "HTTP/2.0")
        }

        @Test func `HTTP/1.1 can be asked for`() async throws {
            let (server, _) = try await start()
            var tls = CurlConnection.TLS()
            tls.roots = .file(server.certificate)
            let response = try await CurlConnection(protocols: .http1, tls: tls).send(.get(server.url + "/protocol"))

            #expect(try await response.body.text(upTo: 100) == "HTTP/1.1")
        }

        @Test func `Bodies that share a connection are read, held back and dropped on their own`() async throws {
            let (server, connection) = try await start()
            let url = server.url + "/large"
            let held = try await connection.send(.get(url))
            var heldReader = try await held.body.open()
            #expect(try await heldReader.next() != nil)

            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<24 {
                    group.addTask {
                        let response = try await connection.send(.get(url))
                        var reader = try await response.body.open()
                        var offset: Int64 = 0
                        while let chunk = try await reader.next() {
                            #expect(BytePattern.matches(chunk, at: offset))
                            offset += Int64(chunk.count)
                            // A third is dropped while it is held back or under way.
                            if number % 3 == 0, offset > 100_000 { return }
                            if number % 3 == 1 { try await Task.sleep(for: .milliseconds(1)) }
                        }
                        #expect(offset == Self.count)
                    }
                }
                try await group.waitForAll()
            }

            var offset: Int64 = 0
            var isWhole = true
            let again = try await connection.send(.get(url))
            for try await chunk in again.body {
                isWhole = isWhole && BytePattern.matches(chunk, at: offset)
                offset += Int64(chunk.count)
            }
            #expect(isWhole)
            #expect(offset == Self.count)
            while try await heldReader.next() != nil {}
        }
    }
}
#endif
