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
    private func credentials(
        _ profile: String? = nil, in folder: FileFolder, adding variables: [String: String] = [:],
        over stub: StubConnection = StubConnection()
    ) async throws -> AWSCredentials? {
        let environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin", "7ZIP": "x"].merging(variables) { $1 }
        return try await MachineCredentials(.profile(profile), over: stub, environment: environment).credentials()
    }

    @Test func `Keys are found in both files, by the name of the profile`() async throws {
        let folder = try FileFolder([
            ".aws/config": """
            # a comment
            [default]
            region = eu-west-1
            s3 =
              max_concurrent_requests = 10
            aws_access_key_id = CONFIG
            aws_secret_access_key = config
            [profile "work"]
            aws_access_key_id=WORK ; a comment
            AWS_SECRET_ACCESS_KEY = wo#rk+/=
            aws_session_token = token # a comment
            [sso-session x]
            sso_start_url = https://example.com
            [work]
            aws_access_key_id=OTHER
            [ profile  'two words' ]
              aws_access_key_id = INDENTED
                aws_access_key_id = NESTED
              aws_secret_access_key = s
            """,
            ".aws/credentials":
                "[default]\r\naws_access_key_id = SHARED\r\naws_secret_access_key = shared\r\n[spare]\r\n",
        ])
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
    }

    @Test func `A profile with a token of another identity provider asks the token service of its region`() async throws
    {
        let folder = try FileFolder(["token": "TOKEN"])
        let text = """
            [default]
            role_arn = arn:aws:iam::1:role/r
            web_identity_token_file = \(folder.path(of: "token"))
            role_session_name = session
            region = cn-north-1
            """
        try folder.write(Data(text.utf8), to: ".aws/config")
        let json = #"{"AccessKeyId": "ASIA1", "SecretAccessKey": "s", "SessionToken": "t"}"#
        let stub = StubConnection(Response(status: .ok, body: Body(json)))
        let environment = ["AWS_REGION": "eu-west-1", "AWS_ROLE_ARN": "another"]
        #expect(try await credentials(in: folder, adding: environment, over: stub)?.accessKeyID == "ASIA1")
        #expect(stub.requests.first?.url?.absoluteString == "https://sts.cn-north-1.amazonaws.com.cn/")
        let form = try await stub.requests.first?.formItems() ?? []
        #expect(form.contains(QueryItem("RoleArn", "arn:aws:iam::1:role/r")))
        #expect(form.contains(QueryItem("RoleSessionName", "session")))
    }

    @Test(arguments: [
        ("[default\naws_access_key_id = SECRET", "line 1"), ("aws_access_key_id = SECRET", "line 1"),
        ("[default]\n\nSECRET", "line 3"), ("[default]\naws_access_key_id = SECRET", "aws_access_key_id in line 2"),
        ("[default]\naws_secret_access_key = SECRET", "aws_secret_access_key in line 2"),
        ("[default]\naws_access_key_id = a\naws_secret_access_key = SEC RET", "aws_secret_access_key in line 3"),
        ("[default]\naws_access_key_id = a\naws_secret_access_key =", "aws_secret_access_key in line 3"),
        ("[default]\ncredential_process = a 'SECRET", "line 2"), ("[default]\ncredential_process =", "line 2"),
        ("[default]\nsso_start_url = SECRET\nsso_region = a", "sso_region in line 3"),
        ("[default]\nsso_session = SECRET", "sso_session in line 2"),
        ("[default]\nrole_arn = SECRET\nsource_profile = a", "source_profile in line 3"),
        ("[default]\nrole_arn = SECRET\ncredential_source = Ec2InstanceMetadata", "credential_source in line 3"),
        ("[default]\nrole_arn = SECRET", "role_arn in line 2"), (String(repeating: "#", count: 2 << 20), "config"),
    ])
    func `A mistake is named by its line and key, and no value is shown`(text: String, place: String) async throws {
        let folder = try FileFolder([".aws/config": text])
        let error = await #expect(throws: SigningError.self) { try await credentials(in: folder) }
        #expect(error?.reason == .noCredentials)
        #expect(error?.description.contains(place) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("SECRET") == false)
        try folder.write(Data([0x5B, 0xFF, 0x5D]), to: ".aws/config")
        await #expect(throws: SigningError.self) { try await credentials(in: folder) }
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
        TimedParser(
            "CredentialAnswer", ["<Credentials>", "<AccessKeyId>", "{\"Credentials\":", "[", "<Code>|</Code>"]
        ) {
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

    @Test(
        arguments: [
            ("a b  c\t", ["a", "b", "c"]), (#""a b" c"#, ["a b", "c"]), (#"'a "b' c"#, ["a \"b", "c"]),
            (#"a\ b"#, ["a b"]), (#""a\"b\\c\d""#, [#"a"b\c\d"#]), (#"'a\b'"#, [#"a\b"#]), (#"a"" """#, ["a", ""]),
            ("$HOME ~ *;|&", ["$HOME", "~", "*;|&"]), ("", []), ("'a", nil), (#"a\"#, nil), (#""a\"#, nil),
        ] as [(String, [String]?)])
    func `A command is split as the shell would split it, and nothing is expanded`(line: String, words: [String]?) {
        #expect(line.commandWords == words)
    }

    @Test func `A program gives credentials without a shell`() async throws {
        let program = """
            #!/bin/sh
            echo "SECRET" >&2
            [ "$1" = '$HOME;a' ] && [ "$#" = 1 ] && [ -z "$(cat)" ] && cat <<END
            {"Version": 1, "AccessKeyId": "ASIA1", "SecretAccessKey": "s", "SessionToken": "t",
            "Expiration": "2026-11-28T06:00:00+00:00"}
            END
            """
        let folder = try FileFolder(["a script": program])
        let script = folder.path(of: "a script")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let line = "[profile p]\ncredential_process = \"\(script)\" $HOME;a\n"
        try folder.write(Data(line.utf8), to: ".aws/config")
        let found = try await credentials("p", in: folder)
        #expect(found?.accessKeyID == "ASIA1" && found?.sessionToken == "t")
        #expect(found?.expiry == Date(timeIntervalSince1970: 1_795_845_600))
    }

    @Test(arguments: [
        "false", "/nowhere/at-all", "absent-program", "echo SECRET", #"echo {"Version": 1}"#, "yes SECRET",
        #"echo '{"Version": 2, "AccessKeyId": "SECRET", "SecretAccessKey": "SECRET"}'"#,
        #"echo '<Credentials><AccessKeyId>SECRET</AccessKeyId></Credentials>'"#, "sh -c 'kill -9 $$'",
    ])
    func `A program that fails, or writes something else or too much, gives a typed error without its output`(
        command: String
    ) async throws {
        let folder = try FileFolder([".aws/config": "[default]\ncredential_process = \(command)\n"])
        let error = await #expect(throws: AWSCredentialError.self) { try await credentials(in: folder) }
        #expect(
            error?.description.contains("SECRET") == false && error?.description.contains("credential_process") == true)
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
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: AWSCredentialError.self) { try await late.value }
        #expect(error?.mayPass == true)
        let cancelled = Task { try await output() }
        try await clock.waitForSleepers()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(await soon { Self.processes(with: mark).isEmpty })
    }

    /// The processes whose arguments have a word; on another system than Linux, none is found.
    private static func processes(with word: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.filter { name in
            let arguments = Int(name).flatMap { FileManager.default.contents(atPath: "/proc/\($0)/cmdline") }
            return arguments.map { String(decoding: $0, as: UTF8.self).contains(word) } == true
        }
    }
}
#endif
#endif
