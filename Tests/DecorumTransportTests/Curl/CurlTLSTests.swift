#if os(Linux)
@testable import Decorum
import DecorumCurl
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    @Suite(.timeLimit(.minutes(3)), .enabled(if: SecureServer.missingForTLS == nil, "openssl is not installed"))
    struct CurlTLSTests {
        private func status(
            _ server: SecureServer, _ change: (inout TLSOptions) -> Void = { _ in }
        ) async throws -> HTTPResponse.Status {
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            change(&tls)
            let response = try await CurlConnection(tls: tls).send(.get(server.url + "/"))
            try await response.body.drain(upTo: 1 << 20)
            return response.status
        }

        private func expectRefusal(_ server: SecureServer, _ change: (inout TLSOptions) -> Void) async {
            let error = await #expect(throws: TransportError.self) { try await status(server, change) }
            #expect(error?.code == .tls)
            #expect(error?.stage == .connecting)
            #expect(error?.underlying is CurlError)
        }

        @Test func `Roots may be in memory, and a missing file of roots is an error`() async throws {
            let server = try await SecureServer.openssl("-www")
            let text = try String(contentsOf: server.root, encoding: .utf8)

            #expect(try await status(server) { $0.roots = .pem(text) } == .ok)
            await expectRefusal(server) { $0.roots = .file(URL(filePath: "/nowhere.pem")) }
        }

        @Test func `The first response of a connection reports the chain where it is asked for`() async throws {
            let server = try await SecureServer.openssl("-www")
            let text = try String(contentsOf: server.certificate, encoding: .utf8)
            let expected = try #require([Data](pemCertificates: text)?.first)
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            let silent = try await CurlConnection(tls: tls).send(.get(server.url + "/"))
            #expect(silent.metadata.serverCertificates == [])

            tls.reportsCertificates = true
            let connection = try CurlConnection(tls: tls)
            let responses = try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        let response = try await connection.send(.get(server.url + "/"))
                        try await response.body.drain(upTo: 1 << 20)
                        return response.metadata
                    }
                }
                return try await group.reduce(into: [ResponseMetadata]()) { $0.append($1) }
            }
            for metadata in responses {
                let isReused = metadata.timings?.isConnectionReused == true
                if isReused || !metadata.serverCertificates.isEmpty {
                    #expect(metadata.serverCertificates.first == (isReused ? nil : expected))
                }
            }
            #expect(responses.contains { $0.serverCertificates.first == expected })
        }

        /// Sends a request on a handle with another folder of certificates than the default of the library.
        private func code(of url: String, trusting folder: URL, _ tls: TLSOptions?) throws -> Int32 {
            let library = try CurlLibrary()
            let multi = try #require(CurlMulti(library))
            let easy = try #require(CurlEasy(library))
            easy.set(DECORUM_CURL_OPTION_URL, url + "/")
            unsafe easy.set(DECORUM_CURL_OPTION_WRITEFUNCTION) { _, size, count, _ in size * count }
            easy.set(DECORUM_CURL_OPTION_CAPATH, folder.path)
            var options = CurlOptions(secureVersion: 0, clearVersion: 0)
            tls?.add(to: &options)
            if tls != nil { options.apply(to: easy) }
            #expect(multi.add(easy))
            defer {
                multi.remove(easy)
                multi.close()
            }
            let deadline = ContinuousClock.now.advanced(by: .seconds(10))
            while ContinuousClock.now < deadline {
                multi.perform()
                // A wait after the end would last the whole second.
                if let (_, code) = multi.nextEnded() { return code }
                multi.poll(forMilliseconds: 1000)
            }
            withExtendedLifetime(options) {}
            return -1
        }

        @Test func `With roots given, the library's folder is not trusted`() async throws {
            let server = try await SecureServer.openssl("-www")
            let folder = server.folderOfRoots
            var file = TLSOptions()
            file.roots = .file(server.stranger)
            var text = TLSOptions()
            text.roots = .pem(try String(contentsOf: server.stranger, encoding: .utf8))

            #expect(try code(of: server.url, trusting: folder, nil) == DECORUM_CURL_OK)
            #expect(try code(of: server.url, trusting: folder, TLSOptions()) == DECORUM_CURL_OK)
            #expect(try code(of: server.url, trusting: folder, file) == 60)
            #expect(try code(of: server.url, trusting: folder, text) == 60)
        }

        @Test func `A server without any of the pinned keys is refused`() async throws {
            let server = try await SecureServer.openssl("-www")
            let pin = try server.pin
            let other = Data(repeating: 7, count: 32)

            #expect(try await status(server) { $0.pinnedKeys = [other, pin] } == .ok)
            await expectRefusal(server) { $0.pinnedKeys = [other] }
            await expectRefusal(server) { ($0.roots, $0.pinnedKeys) = (.system, [pin]) }
            var tls = TLSOptions()
            tls.pinnedKeys = [pin, Data(pin.base64EncodedString().utf8)]
            let error = #expect(throws: CurlUnavailableError.self) { try CurlConnection(tls: tls) }
            #expect(error?.description.contains("32 bytes") == true)
        }

        @Test func `A server with too low a version of TLS is refused`() async throws {
            let server = try await SecureServer.openssl("-www", "-tls1_2")

            #expect(try await status(server) == .ok)
            await expectRefusal(server) { $0.minimumVersion = .tls13 }
        }

        @Test func `A client certificate may be in memory`() async throws {
            let server = try await SecureServer.openssl(
                "-www", "-tls1_2", "-Verify", "1", "-verify_return_error", "-CAfile", "root.pem")
            let certificate = try String(contentsOf: server.clientCertificate, encoding: .utf8)
            let key = try String(contentsOf: server.clientKey, encoding: .utf8)
            let file = try Data(contentsOf: server.clientPKCS12)

            for identity: TLSOptions.Identity in [
                .pem(certificate: certificate, key: key), .pkcs12(file, password: "p12-s3cret"),
            ] {
                #expect(try await status(server) { $0.identity = identity } == .ok)
            }
            let error = await #expect(throws: TransportError.self) {
                try await status(server) { $0.identity = .pkcs12(file, password: "p12-wr0ng") }
            }
            #expect(error?.tlsProblem == .unusableIdentity)
            #expect(error?.description.contains("wr0ng") == false)
        }

        @Test(.enabled(if: CurlBuild.all.contains { $0.testDescription.contains("gnutls") }), arguments: [0, 1])
        func `A build that would ignore a client certificate refuses it`(index: Int) throws {
            var tls = TLSOptions()
            tls.identity =
                [
                    .pkcs12(Data("file".utf8), password: "p12-s3cret"), .pem(certificate: "text", key: "text"),
                ][index]
            let error = #expect(throws: CurlUnavailableError.self) {
                try SystemConnection(CurlLibrary.names.filter { $0.contains("gnutls") }, tls)
            }
            #expect(error?.description.contains("CURLOPT_SSLCERT_BLOB") == true)
            #expect(error?.description.contains("Pass certificates as files") == true)
        }

        @Test func `SystemConnection keeps the options, and has no fallback that does not`() async throws {
            let server = try await SecureServer.openssl("-www")
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            tls.pinnedKeys = [try server.pin]
            let connection = try SystemConnection(tls: tls)
            #expect(try await connection.send(.get(server.url + "/")).status == .ok)
            #expect(connection.layers.description.contains("pinnedKeys: 1"))

            let error = #expect(throws: CurlUnavailableError.self) {
                try SystemConnection(["nowhere.so"], tls)
            }
            #expect(error?.reason == .missing)
        }

        @Test(arguments: ["-tls1_2", "-tls1_3"], CurlBuild.all)
        func `Content until the end of the connection is truncated without a close_notify`(
            version: String, build: CurlBuild
        ) async throws {
            let server = try await SecureServer.openssl("-www", version)
            let forwarder = try ForwardingServer(at: .beforeAlerts, to: server.port)
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            let connection = try CurlConnection(library: build.library(), tls: tls)
            for _ in 0..<2 {
                let whole = try await connection.send(.get(server.url + "/"))
                #expect(try await whole.body.text(upTo: 1 << 20).contains("s_server"))

                let cut = try await connection.send(.get("https://127.0.0.1:\(forwarder.port)/"))
                let error = await #expect(throws: TransportError.self) { try await cut.body.data(upTo: 1 << 20) }
                #expect(error?.code == .truncated)
                #expect(error?.stage == .body)
            }
        }

        @Test(
            .enabled(if: SecureServer.missingForHTTP2 == nil, "nginx is not installed"),
            arguments: [(CurlConnection.Protocols.negotiated, "HTTP/2"), (.http1, "HTTP/1.1"), (.http2, "HTTP/2")])
        func `The version of HTTP is the requested one`(
            protocols: CurlConnection.Protocols, version: String
        ) async throws {
            let server = try await SecureServer.nginx(before: LoopbackOrigin())
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            let response = try await CurlConnection(protocols: protocols, tls: tls)
                .send(.get(server.url + "/protocol"))

            let timings = try #require(response.metadata.timings)
            #expect(timings.protocolVersion == version)
            #expect(try #require(timings.handshake) > #require(timings.connect))
            #expect(try await response.body.text(upTo: 100).hasPrefix(version))
        }
    }
}
#endif
