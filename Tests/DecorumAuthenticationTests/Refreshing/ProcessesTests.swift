#if os(macOS) || os(Linux)
import DecorumAuthentication
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

extension ProcessTests {
    /// Four processes with one token file.
    @Suite(.timeLimit(.minutes(5))) struct TokenFileTests {
        private let folder = TokenFolder()

        private func storeExpiredToken() async throws -> FileTokenStore {
            let store = try FileTokenStore(directory: folder.url)
            let old = try Token("access-1", expiry: Date(timeIntervalSince1970: 0), refreshToken: "refresh-1")
            #expect(try await store.replace(nil, with: old))
            return store
        }

        @Test func `Four processes with 250 callers each cause one refresh, and no logout`() async throws {
            let store = try await storeExpiredToken()
            let path = folder.url.path
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        await #expect(processExitsWith: .success) { [path = path as String] in
                            ProcessTests.begin()
                            // Two values that know nothing of each other meet in each process too.
                            async let half: Void = Self.callers(125, sharing: path)
                            try await Self.callers(125, sharing: path)
                            try await half
                        }
                    }
                }
            }
            #expect(try RotatingFile(path: path).answers == ["token"])
            #expect(try await store.token()?.refreshToken == "refresh-2")
        }

        @Test func `A process that ends during its refresh releases the lock`() async throws {
            let store = try await storeExpiredToken()
            let path = folder.url.path
            await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
                ProcessTests.begin()
                let store = try FileTokenStore(directory: URL(filePath: path))
                try await store.exclusively { Self.endProcess() }
            }
            // It would wait for a minute where the lock stays.
            let started = ContinuousClock.now
            try await Self.callers(1, sharing: path)
            #expect(ContinuousClock.now - started < .seconds(30))
            #expect(try await store.token()?.refreshToken == "refresh-2")
        }

        @Test func `A sign-out in another process reaches this one`() async throws {
            let path = folder.url.path
            let tokens = Tokens(in: try FileTokenStore(directory: folder.url), from: RotatingFile(path: path))
            try await tokens.signIn(with: Token("access-1"))
            await #expect(processExitsWith: .success) { [path = path as String] in
                ProcessTests.begin()
                let store = try FileTokenStore(directory: URL(filePath: path))
                try await Tokens(in: store, from: RotatingFile(path: path)).signOut()
            }
            while (try? await tokens.token()) != nil {
                try Task.checkCancellation()
                await Task.yield()
            }
            await #expect(throws: SignedOutError(.noToken)) { try await tokens.token() }
        }

        /// Ends the process as a kill would, without any cleaning up.
        static func endProcess() { _exit(7) }

        static func callers(_ count: Int, sharing path: String) async throws {
            let store = try FileTokenStore(directory: URL(filePath: path))
            let tokens = Tokens(in: store, from: RotatingFile(path: path))
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<count { group.addTask { try await tokens.token().accessToken } }
                for try await token in group {
                    guard token == "access-2" else { throw CocoaError(.coderInvalidValue) }
                }
            }
        }
    }
}

/// An authorization server for several processes, which writes its answers to a file and rotates refresh tokens.
private struct RotatingFile: TokenSource {
    let path: String

    var layers: [Layer] { [] }

    /// The answers of all processes, in order.
    var answers: [String] {
        get throws {
            try String(contentsOfFile: path + "/answers", encoding: .utf8).split(separator: "\n").map(String.init)
        }
    }

    func token(replacing token: Token?) async throws -> Token {
        let isFirst = token?.refreshToken == "refresh-1" && !FileManager.default.fileExists(atPath: path + "/answers")
        let file = unsafe open(path + "/answers", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        try handle.write(contentsOf: Data((isFirst ? "token\n" : "reuse\n").utf8))
        // A refresh that takes a while meets more callers and processes.
        try await SystemClock().sleep(for: .milliseconds(500))
        guard isFirst else { throw OAuthError(.invalidGrant) }
        return try Token("access-2", expiry: Date(timeIntervalSinceNow: 3600), refreshToken: "refresh-2")
    }
}
#endif
