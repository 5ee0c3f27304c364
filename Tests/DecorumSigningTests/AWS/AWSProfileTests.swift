#if Signing
#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3)))
struct AWSProfileTests {
    private let examples: AWSExamples

    init() throws { examples = try AWSExamples() }

    private func credentials(
        _ profile: String? = nil, in folder: FileFolder, adding variables: [String: String] = [:],
        over stub: StubConnection = StubConnection()
    ) async throws -> AWSCredentials? {
        let environment = ["HOME": folder.path(of: ""), "PATH": "/usr/bin:/bin", "7ZIP": "x"]
        let source = MachineCredentials(
            .profile(profile), over: stub, environment: environment.merging(variables) { $1 })
        return try await source.credentials()
    }

    @Test func `Credentials are found in both files, by the name of the profile`() async throws {
        let folder = try FileFolder(
            config: examples.config,
            [".aws/credentials": examples.credentials, "token": "TOKEN", "a script": examples.program])
        #expect(try await credentials(in: folder)?.accessKeyID == "SHARED")
        let work = try await credentials(in: folder, adding: ["AWS_PROFILE": "work"])
        #expect(work?.accessKeyID == "WORK" && work?.secretAccessKey == "wo#rk+/=" && work?.sessionToken == "token")
        #expect(work?.isFromFile == true)
        #expect(try await credentials("two words", in: folder)?.accessKeyID == "INDENTED")
        for name in ["spare", "absent"] {
            let error = await #expect(throws: SigningError.self) { try await credentials(name, in: folder) }
            #expect(error?.reason == .noCredentials && error?.description.contains(name) == true)
        }
        #expect(try await credentials(in: FileFolder()) == nil)
        #expect(try await credentials(in: folder, adding: ["HOME": "/nowhere"]) == nil)

        let stub = StubConnection(Response(status: .ok, body: Body(examples.xml)))
        let environment = ["AWS_REGION": "eu-west-1", "AWS_ROLE_ARN": "another"]
        #expect(try await credentials("role", in: folder, adding: environment, over: stub)?.accessKeyID == "ASIA1")
        #expect(stub.requests.first?.url?.absoluteString == "https://sts.cn-north-1.amazonaws.com.cn/")
        let form = try await stub.requests.first?.formItems() ?? []
        #expect(form.contains(QueryItem("RoleArn", "arn:aws:iam::1:role/r")))
        #expect(form.contains(QueryItem("RoleSessionName", "session")))

        // Without a shell: one argument has a dollar sign and a semicolon.
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: folder.path(of: "a script"))
        let written = try await credentials("program", in: folder)
        #expect(written?.accessKeyID == "ASIA1" && written?.sessionToken == "SECRETTOKEN")
        #expect(written?.expiry == Date(timeIntervalSince1970: 1_795_845_600))
    }

    @Test func `A mistake is named by its line and key, and no value is shown`() async throws {
        let large = AWSExamples.Mistake(text: String(repeating: "#", count: 2 << 20), place: "config")
        for mistake in examples.mistakes + [large] {
            let folder = try FileFolder(config: mistake.text)
            let error = await #expect(throws: SigningError.self) { try await credentials(in: folder) }
            #expect(error?.reason == .noCredentials)
            #expect(error?.description.contains(mistake.place) == true, "\(error?.description ?? "")")
            #expect(error?.description.contains("SECRET") == false)
            try folder.write(Data([0x5B, 0xFF, 0x5D]), to: ".aws/config")
            await #expect(throws: SigningError.self) { try await credentials(in: folder) }
        }
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
                _ = CanonicalRequest.path($0[...], as: form)
            }
        },
    ])
    func `A parser takes linear time`(parser: TimedParser) { parser.expectLinearTime() }

    @Test func `A command is split as the shell would split it, and nothing is expanded`() {
        for row in examples.commands { #expect(row.line.commandWords == row.words, "\(row.line)") }
    }

    @Test func `A program that fails, or writes something else or too much, gives a typed error without its output`()
        async throws
    {
        for command in examples.failingCommands {
            let folder = try FileFolder(config: "[default]\ncredential_process = \(command)\n")
            let error = await #expect(throws: AWSCredentialError.self) { try await credentials(in: folder) }
            #expect(error?.description.contains("credential_process") == true)
            #expect(error?.description.contains("SECRET") == false)
        }
    }

    @Test func `A program that hangs is killed at the limit and when the caller is cancelled`() async throws {
        let clock = VirtualClock()
        let mark = "86\(UInt32.random(in: 10_000...99_999))"
        func output() async throws -> Data {
            try await CredentialProcess.output(
                of: ["sh", "-c", "sleep \(mark) & exec sleep \(mark)"], environment: ["PATH": "/usr/bin:/bin"],
                clock: clock)
        }
        let late = Task { try await output() }
        try await clock.waitForSleepers()
        #expect(await soon { Self.count(ofProcessesWith: mark) != 1 })
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: AWSCredentialError.self) { try await late.value }
        #expect(error?.mayPass == true)
        let cancelled = Task { try await output() }
        try await clock.waitForSleepers()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(await soon { Self.count(ofProcessesWith: mark) == 0 })
    }

    /// The number of processes whose arguments have a word; on another system than Linux, none is found.
    private static func count(ofProcessesWith word: String) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { FileManager.default.contents(atPath: "/proc/\($0)/cmdline") }
            .count { String(decoding: $0, as: UTF8.self).contains(word) }
    }
}
#endif
#endif
