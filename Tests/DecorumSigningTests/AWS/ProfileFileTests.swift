#if Signing
#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumSigning

@Suite(.timeLimit(.minutes(3)))
struct ProfileFileTests {
    /// A folder with both files, which is removed at the end.
    private final class Home: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "decorum-home-\(UInt64.random(in: 0 ... .max))")

        init(config: String = "", credentials: String = "") throws {
            try FileManager.default.createDirectory(
                at: folder.appending(path: ".aws"), withIntermediateDirectories: true)
            try Data(config.utf8).write(to: folder.appending(path: ".aws/config"))
            try Data(credentials.utf8).write(to: folder.appending(path: ".aws/credentials"))
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func source(_ profile: String? = nil, adding variables: [String: String] = [:]) -> ProfileCredentials {
            let environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"].merging(variables) { $1 }
            return ProfileCredentials(profile, over: StubConnection(), environment: environment)
        }
    }

    @Test func `Keys are found in both files, by the name of the profile`() async throws {
        let home = try Home(
            config: """
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
            credentials: "[default]\r\naws_access_key_id = SHARED\r\naws_secret_access_key = shared\r\n[spare]\r\n")
        #expect(try await home.source().credentials()?.accessKeyID == "SHARED")
        let work = try await home.source(adding: ["AWS_PROFILE": "work"]).credentials()
        #expect(work?.accessKeyID == "WORK" && work?.secretAccessKey == "wo#rk+/=" && work?.sessionToken == "token")
        #expect(work?.isFromFile == true)
        #expect(try await home.source("two words").credentials()?.accessKeyID == "INDENTED")
        for name in ["spare", "absent"] {
            let error = await #expect(throws: SigningError.self) { try await home.source(name).credentials() }
            #expect(error?.reason == .noCredentials && error?.description.contains(name) == true)
        }
        let empty = try Home()
        #expect(try await empty.source().credentials() == nil)
        #expect(try await empty.source(adding: ["HOME": "/nowhere"]).credentials() == nil)
    }

    @Test func `A profile with a token of another identity provider asks the token service of its region`() async throws
    {
        let home = try Home()
        let file = home.folder.appending(path: "token")
        try Data("TOKEN".utf8).write(to: file)
        let text = """
            [default]
            role_arn = arn:aws:iam::1:role/r
            web_identity_token_file = \(file.path)
            role_session_name = session
            region = cn-north-1
            """
        try Data(text.utf8).write(to: home.folder.appending(path: ".aws/config"))
        let json = #"{"Credentials": {"AccessKeyId": "ASIA1", "SecretAccessKey": "s", "SessionToken": "t"}}"#
        let stub = StubConnection(Response(status: .ok, body: Body(json)))
        let environment = ["HOME": home.folder.path, "AWS_REGION": "eu-west-1", "AWS_ROLE_ARN": "another"]
        let source = ProfileCredentials(over: stub, environment: environment)
        #expect(try await source.credentials()?.accessKeyID == "ASIA1")
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
        ("[default]\nrole_arn = SECRET", "role_arn in line 2"),
    ])
    func `A mistake is named by its line and key, and no value is shown`(text: String, place: String) async throws {
        let home = try Home(config: text)
        let error = await #expect(throws: SigningError.self) { try await home.source().credentials() }
        #expect(error?.reason == .noCredentials)
        #expect(error?.description.contains(place) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("SECRET") == false)
    }

    @Test func `A file that is too large or not in UTF-8 is refused`() async throws {
        let home = try Home(config: String(repeating: "#", count: 2 << 20))
        await #expect(throws: SigningError.self) { try await home.source().credentials() }
        try Data([0x5B, 0xFF, 0x5D]).write(to: home.folder.appending(path: ".aws/config"))
        await #expect(throws: SigningError.self) { try await home.source().credentials() }
    }

    @Test(arguments: [
        TimedParser(
            "ProfileFile", ["[profile p]\n", "key = value # comment\n", "a=", "# ", "=\n", " \n", "[ "],
            from: "[default]\n"
        ) {
            _ = try? ProfileFile($0, path: "config", isConfig: true)
        },
        TimedParser("CommandWords", ["a ", "\" ", "'", "\\", "\"\\"]) { _ = CommandWords.split($0) },
        TimedParser(
            "CredentialDocument", ["<Credentials>", "<AccessKeyId>", "{\"Credentials\":", "[", "<Code>|</Code>"]
        ) {
            _ = try? CredentialDocument(Data($0.utf8), from: "")
        },
        TimedParser("CanonicalRequest", ["/a/..", "//", "/%2F", "?", "&a=b", "&", "+ "], from: "/a?") {
            for rules in [CanonicalRequest.PathRules(), .objects] {
                _ = CanonicalRequest(method: "GET", target: $0, fields: [], contentHash: "", rules: rules)
                _ = CanonicalRequest.path($0[...], rules: rules)
            }
        },
    ])
    func `A parser takes linear time`(parser: TimedParser) { parser.expectLinearTime() }

    @Test(
        arguments: [
            ("a b  c\t", ["a", "b", "c"]), (#""a b" c"#, ["a b", "c"]), (#"'a "b' c"#, ["a \"b", "c"]),
            (#"a\ b"#, ["a b"]),
            (#""a\"b\\c\d""#, [#"a"b\c\d"#]), (#"'a\b'"#, [#"a\b"#]), (#"a"" """#, ["a", ""]),
            ("$HOME ~ *;|&", ["$HOME", "~", "*;|&"]),
            ("", []), ("'a", nil), (#"a\"#, nil), (#""a\"#, nil),
        ] as [(String, [String]?)])
    func `A command is split as the shell would split it, and nothing is expanded`(line: String, words: [String]?) {
        #expect(CommandWords.split(line) == words)
    }

    @Test func `A program gives credentials without a shell`() async throws {
        let home = try Home()
        let script = home.folder.appending(path: "a script")
        let program = """
            #!/bin/sh
            echo "SECRET" >&2
            [ "$1" = '$HOME;a' ] && [ "$#" = 1 ] && cat <<END
            {"Version": 1, "AccessKeyId": "ASIA1", "SecretAccessKey": "s", "SessionToken": "t",
            "Expiration": "2026-11-28T06:00:00+00:00"}
            END
            """
        try Data(program.utf8).write(to: script)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
        let line = "[profile p]\ncredential_process = \"\(script.path)\" $HOME;a\n"
        try Data(line.utf8).write(to: home.folder.appending(path: ".aws/config"))
        let credentials = try await home.source("p").credentials()
        #expect(credentials?.accessKeyID == "ASIA1" && credentials?.sessionToken == "t")
        #expect(credentials?.expiry == Date(timeIntervalSince1970: 1_795_845_600))
    }

    @Test(arguments: [
        "false", "/nowhere/at-all", "absent-program", "echo SECRET", #"echo {"Version": 1}"#, "yes SECRET",
        #"echo '{"Version": 2, "AccessKeyId": "SECRET", "SecretAccessKey": "SECRET"}'"#,
        #"echo '<Credentials><AccessKeyId>SECRET</AccessKeyId></Credentials>'"#, "sh -c 'kill -9 $$'",
    ])
    func `A program that fails, or writes something else or too much, gives a typed error without its output`(
        command: String
    ) async throws {
        let home = try Home(config: "[default]\ncredential_process = \(command)\n")
        let error = await #expect(throws: AWSCredentialError.self) { try await home.source().credentials() }
        #expect(
            error?.description.contains("SECRET") == false && error?.description.contains("credential_process") == true)
    }

    @Test func `A program that hangs is killed at the limit and when the caller is cancelled`() async throws {
        let clock = VirtualClock()
        let mark = "86\(UInt32.random(in: 10_000...99_999))"
        let process = CredentialProcess(
            words: ["sh", "-c", "sleep \(mark) & exec sleep \(mark)"], environment: ["PATH": "/usr/bin:/bin"],
            clock: clock)
        let late = Task { try await process.output() }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: AWSCredentialError.self) { try await late.value }
        #expect(error?.mayPass == true)
        let cancelled = Task { try await process.output() }
        try await clock.waitForSleepers()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(await soon { Self.processes(with: mark).isEmpty })
    }

    /// The processes whose arguments have a word; on another system than Linux, none is found.
    private static func processes(with word: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.filter { name in
            Int(name) != nil
                && FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
                    .map { String(decoding: $0, as: UTF8.self).contains(word) } == true
        }
    }
}
#endif
#endif
