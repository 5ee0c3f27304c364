#if CommandLine
import ArgumentParser
import Decorum
import DecorumArchive
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

@Suite(.timeLimit(.minutes(10))) struct RequestRunTests {
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(
            .get, "/tea", .init(fields: ["Content-Type": "application/json"], body: #"{"id":42,"name":"tea"}"#))
    }

    @Test func `Data goes to the standard output, and a POST has the items as JSON`() async throws {
        let plain = try await CommandRun([origin.url + "/tea"])
        #expect((plain.output, plain.talk, plain.status) == (#"{"id":42,"name":"tea"}"#, "", 0))
        #expect(origin.requests.first?.fields["User-Agent"] == "decorum/\(PackageVersion.current)")
        origin.route(.post, "/tea", .init(.created, fields: ["Set-Cookie": "id=s3cret"], body: "made"))
        let words = ["POST", origin.url + "/tea", "name=tea", "password=s3cret", "X-A:1"]
        let run = try await CommandRun(
            ["--bearer", "@token", "--print", "HBhb"] + words, files: ["token": "s3cret\n"])
        #expect(origin.requests.last?.text == #"{"name":"tea","password":"s3cret"}"#)
        #expect(origin.requests.last?.fields["Authorization"] == "Bearer s3cret")
        #expect(run.output.hasPrefix("POST /tea HTTP/1.1\nHost: 127.0.0.1:\(origin.port)\n"))
        #expect(run.output.contains("Authorization: REDACTED\n") && run.output.contains("HTTP/1.1 201 Created\n"))
        #expect(run.output.hasSuffix("\n\nmade") && !run.output.contains("s3cret") && run.talk == "")
        let named = try await CommandRun(["--print", "H", "-H", "Host: a.example", origin.url])
        #expect(named.output.matches(of: /Host: .*/).map(\.output) == ["Host: a.example"])
    }

    @Test func `No output has a secret of the URL, of a field or of content, and none has a control character`()
        async throws
    {
        let head =
            "HTTP/1.1 404 No\u{1B}[31m\u{9B}\r\nX-Title: a\u{1B}]0;b\u{7}\u{9B}\u{202E}\r\nSet-Cookie: id=s3cret\r\n"
        origin.route(nil, "/missing", .script(.raw(Data((head + "Content-Length: 0\r\n\r\n").utf8)), .close))
        origin.route(.get, "/away", .redirect(to: "http://localhost:\(origin.port)/missing?token=s3cret"))
        let (url, item, bearer) = (origin.url, "password=s3cret", ["--bearer-env", "TOKEN"])
        let files = ["--headers-output", "head.json", "--har", "log.har"]
        let all = ["-vv", "--explain", "--waterfall", "--json-output", "--print", "HBhmt", "--retries", "0"] + files
        let rows: [(arguments: [String], status: Int32, text: String)] = [
            (all + bearer + ["POST", url + "/missing?token=s3cret", item, "X-Api-Key:s3cret"], 4, "answered with 404"),
            (all + bearer + [url + "/away", "X-Api-Key:s3cret"], 4, "redirected to http://localhost"),
            (["--curl", url + "?token=s3cret", item, "Authorization:Bearer s3cret"], 0, "SECRET_AUTH"),
            (["--retries", "0", "http://ann:s3cret@127.0.0.1:1/?token=s3cret"], 64, "has a name or a password"),
            (["--retries", "0", "http://127.0.0.1:1/?token=s3cret"], 7, "was refused"),
            ([url + "/a b?token=s3cret"], 64, "cannot be read"),
            ([url, "token:=s3cret"], 64, "is no JSON"),
            ([url, "-H", "Bearer s3cret"], 64, "is not in order"),
            (["--expect-field", "X-Api-Key: s3cret", url + "/missing"], 1, "There is no field"),
            (["--urls-from", "urls", "--json-output"], 64, "2 of them failed"),
        ]
        let urls = "ann:s3cret@127.0.0.1/x\nPOST \(url)/missing a=@urls"
        for (arguments, status, text) in rows {
            let run = try await CommandRun(arguments, environment: ["TOKEN": "s3cret"], files: ["urls": urls])
            #expect(run.status == status && (run.talk + run.output).contains(text), "\(arguments): \(run.talk)")
            let written = arguments.starts(with: all) ? [try run.file("head.json"), try run.file("log.har")] : []
            for shown in [run.talk, run.output] + written {
                #expect(!shown.contains("s3cret"), "\(arguments): \(shown)")
                #expect(!shown.unicodeScalars.contains { $0.isControl && $0 != "\n" })
            }
            if !written.isEmpty { #expect(try HAR(Data(written[1].utf8)).entries.map(\.response.status) == [404]) }
        }
        // The token and the key are for the first server alone, and a list of URLs sends no file.
        #expect(!origin.requests.contains { $0.text.contains("ann") })
        let sent = origin.requests.filter { $0.fields["Authorization"] ?? $0.fields["X-Api-Key"] != nil }.map(\.target)
        #expect(sent == ["/missing?token=s3cret", "/away"])
    }

    @Test func `A file appears whole, and is not replaced without a wish`() async throws {
        origin.route(.get, "/cut", .script(.head(.ok, ["Content-Length": "10"]), .raw("abc"), .close))
        let tea = #"{"id":42,"name":"tea"}"#
        let rows: [(words: String, status: Int32, requests: Int, new: String?, old: String)] = [
            ("-o new --print b %/tea", 0, 1, tea, "old"), ("-o new %/none", 4, 1, nil, "old"),
            ("-o new --expect-status 404 %/tea", 1, 1, nil, "old"), ("-o no/new POST %/tea a=b", 73, 0, nil, "old"),
            ("-o old %/tea", 73, 0, nil, "old"), ("--headers-output old %/tea", 73, 0, nil, "old"),
            ("--skip-existing --continue -o old %/tea", 0, 0, nil, "old"),
            ("--force -o old %/cut", 9, 1, nil, "old"), ("--force -o old %/tea", 0, 1, nil, tea),
        ]
        for (words, status, requests, new, old) in rows {
            origin.forgetRequests()
            let run = try await CommandRun(["--retries", "0"] + self.words(words), files: ["old": "old"])
            #expect(run.status == status && origin.requests.count == requests, "\(words): \(run.talk)")
            #expect(try run.file("old") == old && (try? run.file("new")) == new, "\(words)")
            #expect(run.output == (words.contains("--print") ? tea : ""), "\(words)")
            let names = try FileManager.default.contentsOfDirectory(atPath: run.folder.path)
            #expect(!names.contains { $0.contains("partial") }, "\(words)")
        }
    }

    /// The words of a line, in which `%` is the origin.
    private func words(_ line: String) -> [String] {
        line.split(separator: " ").map { String($0).replacing("%", with: origin.url) }
    }

    @Test(arguments: [
        "--continue %", "--skip-existing %", "--download --expect-status 2xx %", "--download --print h %",
        "--discard -o a %", "--force -o a --headers-output ./a %", "--har - %", "--print x %", "--max-time-p99 1 %",
        "--fail-fast %", "--parallel 9 %", "--mode verify %", "--virtual-time %", "--curl -u ann:env:T %",
        "--curl --netrc %", "--urls-from a %", "--urls-from a --body -", "--urls-from a --curl", "--urls-from a -o b",
        "--urls-from a --headers-output b", "--urls-from a --parallel 0",
    ])
    func `Options that do not go together are refused before anything is sent`(line: String) async throws {
        let command = try RequestCommand.parse(words(line))
        let failure = await #expect(throws: CommandFailure.self) { try await command.perform() }
        #expect(failure?.status == .usage && origin.requests.isEmpty)
    }

    @Test func `A download has a safe name, and goes on where it was broken off`() async throws {
        let content = BytePattern.bytes(300_000)
        let disposition = "attachment; filename*=UTF-8''..%2F..%2F%1B%0Aevil.bin"
        let served = ServedContent(content, fields: [.eTag: #""1""#, .contentDisposition: disposition])
        origin.route(.get, "/film") { request in .serving(served) }
        let run = try await CommandRun(["--download", "--output-dir", "films", origin.url + "/film"])
        #expect((run.status, run.talk) == (0, "evil.bin: 300.0 kB\n"))
        #expect(try Data(contentsOf: run.folder.appending(path: "films/evil.bin")) == content)
        let head: RawFields = ["Content-Length": "300000", "ETag": #""1""#]
        origin.enqueue(.script(.head(.ok, head), .raw(content.prefix(100_000)), .close))
        origin.forgetRequests()
        let resumed = try await CommandRun(["-o", "film", "--continue", origin.url + "/film"])
        #expect(try Data(contentsOf: resumed.folder.appending(path: "film")) == content)
        #expect(origin.requests.last?.fields["Range"] == "bytes=100000-")
    }

    @Test func `A thousand URLs are asked for at once, and each has a line`() async throws {
        origin.route(.get, "/n/*", .init(body: "x"))
        let urls = (0..<1000).map { "\(origin.url)/n/\($0)" }.joined(separator: "\n")
        let run = try await CommandRun(
            ["--urls-from", "urls", "--parallel", Footprint.isSoak ? "1000" : "200", "--json-output"],
            files: ["urls": urls + "\n\n# the end\n"])
        #expect((run.status, run.talk) == (0, "1000 done, 0 of them failed, 0 under way\n"))
        #expect(run.output.split(separator: "\n").count == 1000)
        #expect(Set(origin.requests.map(\.target)).count == 1000)
    }

    @Test func `Of many exchanges the first failure in their order counts, and may end the rest`() async throws {
        let urls = ["/tea", "/none", "/tea", "/none"].map { origin.url + $0 }.joined(separator: "\n")
        let all = try await CommandRun(["--urls-from", "-", "--parallel", "9"], files: ["input": urls])
        #expect(all.status == 4 && all.talk.hasSuffix("4 done, 2 of them failed, 0 under way\n"))
        origin.route(.get, "/hang", .hanging)
        let input = ["input": "\(origin.url)/hang\n\(origin.url)/none\n", "rest": "\(origin.url)/tea"]
        origin.forgetRequests()
        // The rest comes when the failure has been told.
        let line = "{ cat input; until grep 404 talk; do sleep 0.02; done >found; cat rest; } | run >data"
        let ended = try await CommandRun(["--urls-from", "-", "--fail-fast", "--discard"], files: input, by: line)
        #expect(ended.status == 4 && !origin.requests.map(\.target).contains("/tea"))
        origin.route(.get, "/large", .generated(count: 1 + 1 << 20))
        let large = ["--urls-from", "-", "--parallel", "64", "--discard", "--expect", "json $.id == 1"]
        #expect(try await CommandRun(large, files: ["input": origin.url + "/large"]).status == 12)
        let slow = ["--urls-from", "-", "--discard", "--max-time-p99", "0"]
        #expect(try await CommandRun(slow, files: ["input": origin.url + "/tea"]).status == 1)
        for line in ["run <. >data", "run <&- >data"] {
            #expect(try await CommandRun(["--urls-from", "-"], by: line).status == 74, "\(line)")
        }
    }

    @Test func `A cassette is recorded and played, also when nothing listens`() async throws {
        let recorded = try await CommandRun(["--record", "tea.json", origin.url + "/tea"])
        let cassette = try recorded.file("tea.json")
        origin.stop()
        let words = ["--play", "tea.json", "--virtual-time", origin.url + "/tea"]
        let played = try await CommandRun(words, files: ["tea.json": cassette])
        #expect(played.output == #"{"id":42,"name":"tea"}"#)
    }

    @Test func `Cookies and stored responses last until the next run`() async throws {
        origin.route(.get, "/in", .init(fields: ["Set-Cookie": "id=1; Max-Age=60"], body: "in"))
        origin.route(.get, "/kept", .init(fields: ["Cache-Control": "max-age=60"], body: "kept"))
        let (jar, cache) = (["--cookies", "cookies.json"], ["--cache", "stored", origin.url + "/kept"])
        let run = try await CommandRun(jar + [origin.url + "/in"], jar + [origin.url + "/tea"], cache, cache)
        #expect(run.output == "kept")
        #expect(origin.requests.map(\.target) == ["/in", "/tea", "/kept"])
        #expect(origin.requests.map { $0.fields["Cookie"] } == [nil, "id=1", nil])
    }

    @Test(.enabled(if: SecureServer.missingForTLS == nil))
    func `Over TLS, the certificates that are trusted and the key that is expected count, and are written in DER`()
        async throws
    {
        let server = try await SecureServer.openssl("-www -Verify 1 -CAfile root.pem -verify_return_error")
        let (root, pin) = (server.root.path, try server.pin.base64EncodedString())
        let own = ["--cert", server.clientCertificate.path, "--key", server.clientKey.path]
        let words = ["--cacert", root, "--pin", "sha256//\(pin)", "--certificates", "chain", "--discard"] + own
        let run = try await CommandRun(words + [server.url], words + [server.url])
        #expect(run.status == 0, "\(run.talk)")
        let file = run.folder.appending(path: "chain/127.0.0.1_cert_0.DER")
        #expect(try Data(contentsOf: file).starts(with: [0x30, 0x82]))
        let wrongPin = Data(count: 32).base64EncodedString()
        for options in [own, ["--cacert", root], ["--cacert", root, "--pin", wrongPin] + own] {
            #expect(try await CommandRun(["--retries", "0"] + options + [server.url]).status == 8, "\(options)")
        }
    }

    #if Signing
    @Test func `A signature covers the request, and no part of its key is said`() async throws {
        let run = try await CommandRun(
            ["-v", "--sign", "rfc9421:key:mine", origin.url + "/tea"], files: ["key": "s3cret-key-of-hmac"])
        #expect(origin.requests.first?.fields["Signature-Input"]?.contains(#"keyid="mine""#) == true)
        #expect(run.status == 0 && !run.talk.contains("s3cret"), "\(run.talk)")
    }

    @Test(.enabled(if: SecureServer.missingForTLS == nil))
    func `A token that is bound to a key goes with a proof of it`() async throws {
        let server = try await SecureServer.openssl()
        let run = try await CommandRun(
            ["-v", "--bearer-env", "TOKEN", "--sign", "dpop:\(server.clientKey.path)", origin.url + "/tea"],
            environment: ["TOKEN": "s3cret"])
        #expect(origin.requests.first?.fields["Authorization"] == "DPoP s3cret")
        #expect(origin.requests.first?.fields["DPoP"]?.split(separator: ".").count == 3)
        #expect(run.status == 0 && !run.talk.contains("s3cret"), "\(run.talk)")
    }
    #endif
}
#endif
