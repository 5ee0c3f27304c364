#if os(macOS) || os(Linux)
import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

extension ProcessTests {
    /// Four processes with one token file.
    @Suite(.timeLimit(.minutes(5))) struct TokenFileTests {
        private let folder = TokenFolder()

        @Test func `Four processes with 250 callers each cause one refresh, and no logout`() async throws {
            let server = try TokenEndpoint()
            let store = try FileTokenStore(directory: folder.url)
            let old = try Token("access-1", expiry: Date(timeIntervalSince1970: 0), refreshToken: "refresh-1")
            #expect(try await store.replace(nil, with: old))
            let (path, url) = (folder.url.path, server.url)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        await #expect(processExitsWith: .success) { [path = path as String, url = url as String] in
                            IsolatedTests.failAfterAMinute()
                            try await Self.callers(250, sharing: path, at: url)
                        }
                    }
                }
            }
            #expect(server.refreshes == 1 && server.reuses == 0)
            #expect(try await store.token()?.refreshToken == "refresh-2")
        }

        @Test func `A process that ends during its refresh releases the lock`() async throws {
            let path = folder.url.path
            let store = try FileTokenStore(directory: folder.url)
            let old = try Token("access-1", expiry: Date(timeIntervalSince1970: 0), refreshToken: "refresh-1")
            #expect(try await store.replace(nil, with: old))
            await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
                let store = try FileTokenStore(directory: URL(filePath: path))
                try await store.exclusively { Self.endProcess() }
            }
            // It would wait for a minute where the lock stays.
            let started = ContinuousClock.now
            let server = try TokenEndpoint()
            try await Self.callers(1, sharing: path, at: server.url)
            #expect(server.refreshes == 1 && ContinuousClock.now - started < .seconds(30))
        }

        /// Ends the process as a kill would, without any cleaning up.
        static func endProcess() { _exit(7) }

        static func callers(_ count: Int, sharing path: String, at url: String) async throws {
            let client = OAuthClient(
                "app", of: try AuthorizationServer(token: url + "/token"), over: SystemConnection())
            let tokens = Tokens(in: try FileTokenStore(directory: URL(filePath: path)), from: client.refreshing())
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<count { group.addTask { try await tokens.token().accessToken } }
                for try await token in group {
                    guard token == "access-2" else { throw CocoaError(.coderInvalidValue) }
                }
            }
        }
    }
}

/// A token endpoint on this machine, which rotates refresh tokens and counts those that come back.
private final class TokenEndpoint: Sendable {
    private let origin: LoopbackOrigin
    private let state: Counters

    private final class Counters: Sendable {
        let values = Mutex((refreshes: 0, reuses: 0))
    }

    init() throws {
        let (origin, state) = (try LoopbackOrigin(), Counters())
        origin.route(.post, "/token") { request in
            let isFirst = String(decoding: request.body, as: UTF8.self).contains("refresh_token=refresh-1&")
            let count = state.values.withLock { values in
                values.refreshes += 1
                if !isFirst || values.refreshes > 1 { values.reuses += 1 }
                return values.refreshes
            }
            let fields: RawFields = ["Content-Type": "application/json"]
            guard count == 1 else {
                return .init(.badRequest, fields: fields, body: #"{"error":"invalid_grant"}"#)
            }
            // A refresh that takes a while meets more callers and processes.
            return .init(
                fields: fields,
                body:
                    #"{"access_token":"access-2","token_type":"Bearer","expires_in":3600,"refresh_token":"refresh-2"}"#
            )
            .after(.pause(.milliseconds(500)))
        }
        (self.origin, self.state) = (origin, state)
    }

    var url: String { origin.url }
    var refreshes: Int { state.values.withLock { $0.refreshes } }
    var reuses: Int { state.values.withLock { $0.reuses } }
}
#endif
