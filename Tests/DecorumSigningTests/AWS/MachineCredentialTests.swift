#if Signing && (os(macOS) || os(Linux))
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3))) struct MachineCredentialTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_790_000_000))

    private func instance(over connection: some Connection) async throws -> AWSCredentials? {
        try await MachineCredentials(.instance, over: connection, environment: [:], clock: clock).credentials()
    }

    @Test func `A place gives credentials, none, or a typed error, and no text or log shows a value`() async throws {
        let rows = try AWSExamples().places
        #expect(rows.count == 87)
        for row in rows {
            let folder = try FileFolder(row.files ?? [:])
            defer { withExtendedLifetime(folder) {} }
            // A shell cannot set the last variable.
            let environment = ["HOME": "{folder}", "PATH": "/usr/bin:/bin", "7ZIP": "x"]
                .merging(row.environment ?? [:]) { $1 }.mapValues(folder.filled)
            let stub = StubConnection(
                answers: (row.answers ?? []).map { answer in
                    let type = answer[1].hasPrefix("<") ? "text/xml" : "application/json"
                    let response = Response(
                        status: .init(code: Int(answer[0]) ?? 0), fields: [.contentType: type],
                        body: Body(folder.filled(answer[1])))
                    return { _ in response }
                })
            let log = Mutex("")
            let logged = stub.logging(
                to: LogSink { entry in log.withLock { $0 += entry } },
                detail: row.source == .instance ? .line : .bodies(upTo: 4096))
            let source = MachineCredentials(row.source, over: logged, environment: environment, clock: clock)
            #expect(!"\(source)\(dumped(source))".contains("SECRET"))
            do {
                let found = try await source.credentials()
                let keys = found.map { [$0.accessKeyID, $0.secretAccessKey] + ($0.sessionToken.map { [$0] } ?? []) }
                #expect(keys == row.keys && row.error == nil, "\(row.note)")
                #expect(found?.expiry?.timeIntervalSince1970 == row.expiry, "\(row.note)")
                #expect(found == nil || !log.withLock { $0.contains("SECRET") }, "\(row.note)")
                #expect(!dumped(found as Any).contains("SECRET"))
                #expect(found?.isFromFile ?? false == (row.place == "profile" && found?.expiry == nil && found != nil))
            } catch {
                let temporary = (error as? AWSCredentialError).map { $0.mayPass ? "temporary" : "permanent" }
                #expect(((error as? SigningError)?.reason.name ?? temporary) == row.kind, "\(row.note): \(error)")
                for part in row.error ?? [] { #expect("\(error)".contains(part), "\(row.note): \(error)") }
                #expect(!"\(error)".replacing("AWS_SECRET", with: "").contains("SECRET"), "\(row.note): \(error)")
            }
            var requests: [String] = []
            for request in stub.requests {
                let form = try await request.formItems().map { QueryItem.canonicalText(of: $0) }
                let secrets = request.head.headerFields.filter { $0.value.contains("SECRET") }.map(\.value)
                let parts = ["\(request.head.method)", request.url?.absoluteString] + secrets + [form]
                requests.append(parts.compactMap { $0 }.joined(separator: " "))
                #expect(!"\(request)".contains("SECRET"), "\(row.note)")
            }
            #expect(requests == row.requests ?? [], "\(row.note)")
        }
    }

    @Test func `A service that hangs or cannot be reached ends in time with an error that may pass`() async throws {
        let hanging = StubConnection { [clock] _ in
            try await clock.sleep(until: clock.now + .seconds(1_000), tolerance: nil)
            return Response(status: .ok)
        }
        let call = Task { try await instance(over: hanging) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        await #expect { try await call.value } throws: { ($0 as? AWSCredentialError)?.mayPass == true }
        let away = StubConnection { _ in throw TransportError(.unreachable, at: .connecting) }
        let error = await #expect(throws: AWSCredentialError.self) { try await instance(over: away) }
        #expect(error?.mayPass == true && error?.description.contains("AWS_EC2_METADATA_DISABLED") == true)
    }

    @Test func `A connection that redirects, stores, records or has a proxy is refused`() async throws {
        let stub = StubConnection()
        let connections: [any Connection] = [
            stub.followingRedirects(), stub.caching(in: MemoryResponseStore()),
            stub.logging(to: LogSink { _ in }, redacting: .none), stub.logging(to: LogSink { _ in }, detail: .fields),
            ProxiedConnection(), stub.recording(on: try Cassette(at: "/nowhere/a.json", mode: .rewrite)),
        ]
        for connection in connections {
            await #expect { try await instance(over: AnyConnection(connection)) } throws: {
                ($0 as? SigningError)?.reason == .invalidConfiguration
            }
        }
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [
        TimedParser(
            "AWSProfile", ["[profile p]\n", "key = value # comment\n", "a=", "# ", "=\n", " \n", "[ "],
            from: "[default]\n"
        ) { text in
            var profile = AWSProfile(name: "default")
            try? profile.read(text, path: "config", isConfig: true)
        },
        TimedParser("commandWords", ["a ", "\" ", "'", "\\", "\"\\"]) { _ = $0.commandWords },
        TimedParser("CredentialAnswer", ["<Credentials>", "<AccessKeyId>", "{\"a\":", "[", "<Code>|</Code>"]) {
            _ = try? CredentialAnswer(Data($0.utf8)).credentials(from: "")
        },
        TimedParser("CanonicalRequest", ["/a/..", "//", "/%2F", "?", "&a=b", "&", "+ "], from: "/a?") {
            for form in [CanonicalRequest.PathForm.normalized, .object] {
                _ = CanonicalRequest(method: "GET", target: $0, fields: [], contentHash: "", path: form)
            }
        },
    ])
    func `A parser takes linear time`(parser: TimedParser) { parser.expectLinearTime() }

    @Test func `A command is split as the shell would split it, and nothing is expanded`() throws {
        let commands = try AWSExamples().commands
        #expect(commands.count == 12)
        for (line, words) in commands { #expect(line.commandWords == words, "\(line)") }
    }

    @Test func `A program that hangs is killed at the limit and when the caller is cancelled`() async throws {
        let mark = "86\(UInt32.random(in: 10_000...99_999))"
        for isCancelled in [false, true] {
            let call = Task { [clock] in
                try await CredentialProcess.output(
                    of: ["sh", "-c", "sleep \(mark) & exec sleep \(mark)"], environment: ["PATH": "/usr/bin:/bin"],
                    clock: clock)
            }
            try await clock.waitForSleepers()
            #expect(await soon { Self.count(ofProcessesWith: mark) ?? 2 > 1 })
            if isCancelled { call.cancel() } else { clock.advance(by: .seconds(60)) }
            let error = await #expect(throws: (any Error).self) { try await call.value }
            #expect(isCancelled ? error is CancellationError : (error as? AWSCredentialError)?.mayPass == true)
            #expect(await soon { Self.count(ofProcessesWith: mark) ?? 0 == 0 })
        }
    }

    /// The number of processes whose arguments have a word; nil on another system than Linux.
    private static func count(ofProcessesWith word: String) -> Int? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?
            .compactMap { FileManager.default.contents(atPath: "/proc/\($0)/cmdline") }
            .count { String(decoding: $0, as: UTF8.self).contains(word) }
    }
}

/// A transport that has a proxy.
private struct ProxiedConnection: Connection {
    let layers = [Layer(name: "Proxied", role: .transport, settings: [.init("proxies", "http://proxy")])]

    func send(_ request: consuming Request) async throws -> Response { Response(status: .ok) }
}
#endif
