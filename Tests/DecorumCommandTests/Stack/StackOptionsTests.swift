#if CommandLine
import ArgumentParser
import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation
import Testing

@testable import DecorumCommand

struct StackOptionsTests {
    private func stack(_ arguments: String, environment: [String: String] = [:]) throws -> StandardStack {
        try StackOptions.parse(arguments.split(separator: " ").map(String.init)).stack(environment: environment)
    }

    @Test func `The stack is that of a tool, and options change its settings`() throws {
        let plain = try stack("")
        #expect(plain.time == StandardStack(.tool).time && !plain.statusValidation && plain.client?.name == "decorum")
        let retries = try stack("--retries 5").retries
        #expect(try stack("--retries 0").retries == nil && retries?.retries == 5 && retries?.budget == .perCall(5))
        #expect(try stack("--timeout 1.5s").time?.call == .milliseconds(1500))
        #expect(try stack("--attempt-timeout 200ms").attemptTime?.head == .milliseconds(200))
        #expect(try stack("--idle-timeout 2m").time?.idle == .seconds(120))
        #expect(try stack("--redirects none").redirects == nil)
        #expect(try stack("--set redirects=false --redirects all").redirects?.description == "standard")
        #expect(try stack("--redirects same-origin --max-redirects 3").redirectLimit == 3)
        #expect(try stack("--cache memory").caching != nil && stack("--set caching=true --cache off").caching == nil)
        let tls = try TransportOptions.parse(["--tls-min", "1.3"]).tls(console: Console(try ConsoleOptions.parse([])))
        #expect(tls.minimumVersion == .tls13)
        #expect(try stack("--coalesce").coalescing == .standard && stack("--stack server").requestIDs)
        #expect(try stack("--compress br").compression?.coding == ContentCoding("br"))
        #expect(try stack("--set baseURL=https://a.example/").baseURL == "https://a.example/")
    }

    @Test func `A later place counts more: the user's file, the environment, a file, an option`() async throws {
        try await withFolder { folder in
            let user = folder.appending(path: "decorum")
            try FileManager.default.createDirectory(at: user, withIntermediateDirectories: false)
            for (name, text) in [
                ("decorum/config.json", #"{"time": {"call": 1, "idle": 1}, "redirectLimit": 1}"#),
                ("variable.json", #"{"time": {"call": 2}}"#), ("own.json", #"{"time": {"call": 3}}"#),
            ] { try Data(text.utf8).write(to: folder.appending(path: name)) }
            var environment = ["XDG_CONFIG_HOME": folder.path]
            #expect(try stack("", environment: environment).time?.call == .seconds(1))
            #expect(try stack("--no-config", environment: environment).time?.call == .seconds(60))
            environment["DECORUM_STACK"] = folder.path + "/variable.json"
            #expect(try stack("", environment: environment).time == TimePolicy(call: .seconds(2), idle: .seconds(1)))
            #expect(try stack("--stack \(folder.path)/own.json", environment: environment).time?.call == .seconds(3))
            let last = try stack(
                "--stack \(folder.path)/own.json --set time.call=4 --timeout 5", environment: environment)
            #expect(last.time == TimePolicy(call: .seconds(5), idle: .seconds(1)) && last.redirectLimit == 1)
        }
    }

    @Test func `Times, rates, percentiles and faults are read in short forms`() {
        #expect(["90", "2h", "-1", "1e300"].map { TimeArgument(argument: $0)?.seconds } == [90, 7200, nil, nil])
        #expect(RateArgument(argument: "300/m")?.policy.limits.rate == .init(300, per: .seconds(60)))
        #expect(HedgeArgument(argument: "p95")?.policy.percentile == 0.95)
        let faults: [(String, Fault?)] = [
            ("delay:200ms", .delay(.milliseconds(200))), ("bandwidth:9:0.5", .bandwidth(9, rate: 0.5)),
            ("status:503:0.5", .status(.serviceUnavailable, rate: 0.5)), ("loss:0.1", .loss(rate: 0.1)),
            ("loss:2", nil), ("loss:0.1:1", nil), ("status:101", nil), ("delay:x", nil), ("fire:1", nil), ("loss", nil),
        ]
        for (text, fault) in faults { #expect(FaultArgument(argument: text)?.fault == fault, "\(text)") }
        #expect(RateArgument(argument: "0/s") == nil && HedgeArgument(argument: "95") == nil)
    }

    /// Arguments with a status and a part of the head that is sent; `%` is the URL of the origin, and `NAME` another name of it.
    private static let rows: [(arguments: String, status: Int32, head: String)] = [
        ("--netrc %/", 0, "Authorization: Basic YW5uOnMgMw==\r\n"),
        ("--resolve NAME:127.0.0.1 --bearer @token http://NAME/", 10, ""),
        ("--resolve NAME:127.0.0.1 --bearer @token --allow-unencrypted-credentials http://NAME/", 0, "Host: NAME\r\n"),
        ("--proxy % --noproxy b.example http://a.example/", 0, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"),
        ("--proxy % --proxy-user ann --proxy-password @token http://a.example/", 0, "Proxy-Authorization: Basic YW"),
        ("--unix-socket missing %/", 7, ""), ("--cache only:stored %/", 11, ""),
        ("--stack server %/", 0, "X-Request-ID: "),
    ]
    #if Signing
    private static let signing: [(arguments: String, status: Int32, head: String)] = [
        ("-u ann:@token --auth digest %/door", 0, #"Authorization: Digest username="ann""#),
        ("--sign dpop:token --bearer @token %/", 65, ""), ("--sign sigv4:eu:s3 --play empty %/", 10, ""),
    ]
    #else
    private static let signing = [(arguments: "--sign rfc9421:token %/", status: 69 as Int32, head: "")]
    #endif
    private static let refused: KeyValuePairs<String, Int32> = [
        "--netrc --bearer @token": 64, "--sign rfc9421:token --bearer @token": 64, "--auth digest --netrc": 64,
        "--proxy none --proxy-user ann": 64, "--proxy a --proxy-password @token": 64, "--key-password @token": 64,
        "--key token": 64, "--pin AAAA": 64, "--tls-min 1.1": 64, "--cacert stored": 66, "--cert missing": 66,
        "--cache=": 64, "--cache only": 64, "--cache only:none": 66, "--retries=-5": 64, "--max-redirects=-1": 64,
        "--retry-budget 0.2": 64, "--set time": 64, "--set \(String(repeating: "a.", count: 10_000))=1": 65,
    ]

    @Test func `An option has its effect on what is sent, or is refused`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(nil, "/", "")
        origin.route(nil, "/door") { request in
            let challenge: RawFields = ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#]
            return request.fields["Authorization"] == nil ? .init(.unauthorized, fields: challenge) : "in"
        }
        let netrc = #"machine 127.0.0.1 login ann password "s 3""#
        let files = ["token": "s3cret", ".netrc": netrc, "empty": #"{"interactions":[]}"#]
        let (url, name) = (origin.url, "a.example:\(origin.port)")
        let filled = { (text: String) in text.replacing("%", with: url).replacing("NAME", with: name) }
        let refused = Self.refused.map { ("\($0.key) %/", $0.value, "") }
        for (arguments, status, head) in Self.rows + Self.signing + refused {
            origin.forgetRequests()
            let words = ["--retries", "0"] + filled(arguments).split(separator: " ").map(String.init)
            let run = try await CommandRun(
                words, files: files, by: "mkdir -p stored/unfinished; : >stored/removed; run >data")
            #expect(run.status == status && !run.talk.contains("s3cret"), "\(arguments.prefix(99)): \(run.talk)")
            let sent = origin.requests.last.map { String(decoding: $0.rawHead, as: UTF8.self) }
            #expect(
                sent?.contains(filled(head)) == (status == 0 ? true : nil), "\(arguments.prefix(99)): \(sent ?? "")")
        }
    }

    @Test func `A netrc file has an entry for a host, or one for all others`() {
        let file =
            "  # machine b.example login x password x\nmachine a.example login ann password one account x machine "
            + "b.example\n login \"b \\\"ob\\\\\"\n password two\ndefault login any password three machine c.example login x"
        let entry = CredentialOptions.netrcEntry
        for (host, words) in [("a.example", "ann one"), ("b.example", #"b "ob\ two"#), ("c.example", "any three")] {
            #expect(entry(host, file).map { "\($0["login"] ?? "") \($0["password"] ?? "")" } == words)
        }
        #expect(entry("x.example", "machine a.example login ann") == nil)
    }

    #if Signing
    @Test func `A key of HMAC is the bytes of a file, without the line break at the end of a text`() {
        let rows: [(file: [UInt8], key: [UInt8]?)] = [
            ([97, 13, 10], [97]), ([97, 255, 10], [97, 255, 10]), ([97, 254], [97, 254]), ([], nil), ([10], nil),
            ([0x30, 0x81, 0x87, 2, 1, 0], nil), (Array("-----BEGIN X".utf8), nil),
        ]
        for (file, key) in rows {
            #expect(CredentialOptions.secretBytes(of: Data(file)) == key.map { Data($0) }, "\(file)")
        }
    }
    #endif
}
#endif
