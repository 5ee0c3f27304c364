#if CommandLine
import Decorum
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

@Suite(.timeLimit(.minutes(10))) struct TNLRunTests {
    let origin: LoopbackOrigin
    var url: String { origin.url + "/tea" }

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(.get, "/tea", .init(fields: ["X-A": "1", "x-a": "2", "Set-Cookie": "a=s3cret"], body: "milk"))
        origin.route(.put, "/tea", .init(.created, body: "made"))
        origin.route(.get, "/away", .redirect(to: "/tea"))
        origin.route(.get, "/binary", .init(body: Data([0xFF, 0])))
    }

    @Test func `M99: A link with the name tnlcli takes its options, and a path of the home`() async throws {
        let words = [
            "--request-method", "GET", "--request-method", "put", "--request-header", "X-B: 1", "--request-header",
            "X-Empty:", "--request-header", "none", "--request-body-file", "~/tea.txt", "--response-body-mode",
            "file,print", "--response-body-file", "./made.txt", url,
        ]
        let line = "ln -s \"$program\" tnlcli; program=./tnlcli; run <input >data"
        let run = try await CommandRun(words, environment: ["PWD": "/"], files: ["tea.txt": "black"], by: line)
        #expect(try (run.status, run.output, run.file("made.txt")) == (0, "made\n", "made"))
        #expect(run.talk == "WARNING: A header without a colon is skipped. Write Name: value.\n")
        #expect(origin.requests.map(\.method) == [.put])
        #expect(origin.requests.map { [$0.fields["X-B"], $0.fields["X-Empty"], $0.text] } == [["1", "", "black"]])
    }

    @Test func `M99: Content and fields go to files, are printed, or both, and files stay`() async throws {
        let words = [
            "tnl", "--response-body-mode", "file,print", "--response-body-file", "body", "--response-headers-mode",
            "print,file", "--response-headers-file", "head.json", url,
        ]
        let run = try await CommandRun(words)
        let head = try run.file("head.json")
        #expect(try (run.status, run.output, run.file("body")) == (0, head + "\nmilk\n", "milk"), "\(run.talk)")
        #expect(!head.contains("s3cret"))
        let fields = try JSONDecoder().decode([String: String].self, from: Data(head.utf8))
        #expect(["X-A", "_tnlcli_StatusCode", "_tnlcli_URL"].map { fields[$0] } == ["1, 2", "200", url])
        origin.forgetRequests()
        for name in ["body", "head.json"] {
            let again = try await CommandRun(words, files: [name: "old"])
            #expect(try again.file(name) == "old" && again.status == 73)
        }
        #expect(origin.requests.isEmpty)
    }

    @Test func `M99: Nothing is printed without a mode or a use for content, and no status fails`() async throws {
        let discards = ["--response-body-mode", "print", "--request-config", "responseDataConsumptionMode: 0"]
        for words in [[url], [origin.url + "/none"], discards + [url]] {
            let run = try await CommandRun(["tnl"] + words)
            #expect((run.status, run.output + run.talk) == (0, ""))
        }
        #expect(origin.requests.map(\.target) == ["/tea", "/none", "/tea"])
    }

    @Test func `M99: Unknown options are skipped with their values, as in tnlcli's own example`() async throws {
        let run = try await CommandRun([
            "tnl", "--request-method", "HEAD", "--response-header-mode", "file,print", "--response-header-file",
            "response_headers.json", "--version", url,
        ])
        #expect(run.talk.split(separator: "\n").count == 2)
        #expect(run.talk.hasPrefix("WARNING: “--response-header-mode” is no option of tnlcli."))
        #expect(run.output == "decorum \(PackageVersion.current)\n")
        #expect(origin.requests.map(\.method) == [.head])
        #expect(try await CommandRun(["tnl", "--version"]).output == run.output)
        let mistake = try await CommandRun(["tnl", "--request-method", "GET"])
        #expect(mistake.status == 64 && mistake.talk.contains("There is no URL."))
    }

    @Test func `M100: Options override the settings and fields of files, and later ones earlier ones`() async throws {
        let config = #"{"redirectPolicy": "0", "attemptTimeout": "9"}"#
        let files = ["config.json": config, "fields.json": #"{"X-B": "1", "X-C": "1"}"#]
        let words = ["tnl", "--request-config-file", "config.json", "--request-headers-file", "fields.json"]
        _ = try await CommandRun(words + [origin.url + "/away"], files: files)
        #expect(origin.requests.map(\.target) == ["/away"])
        origin.forgetRequests()
        let later = ["--request-config", "redirectPolicy: 2", "--request-config", "redirectPolicy: 1"]
        let own = ["--global-config", "idleTimeoutMode: 2", "--request-header", "x-b: 0", "--request-header", "X-b: 2"]
        let run = try await CommandRun(words + later + own + [origin.url + "/away"], files: files)
        #expect((run.status, run.talk) == (0, ""))
        #expect(origin.requests.map(\.target) == ["/away", "/tea"])
        #expect(origin.requests.map { [$0.fields["X-B"], $0.fields["X-C"]] } == [["2", "1"], ["2", "1"]])
    }

    @Test func `M101: Statistics, fields and content are printed on request, and the log is talk`() async throws {
        let run = try await CommandRun(["tnl", "--verbose", "--dump-cert-chain-directory", "chain", url])
        let titles = run.output.split(separator: "\n").filter { $0.hasPrefix("**") }
        #expect(titles == ["** STATS **", "** RESPONSE HEADERS **", "** RESPONSE BODY **"])
        #expect(run.output.contains(#""statusCode" : 200"#) && run.output.contains(#""startedAt" : "2"#))
        #expect(run.talk.contains("GET"))
        #expect(!(run.output + run.talk).contains("s3cret"))
        // Without TLS there is no certificate for it.
        #expect(try FileManager.default.contentsOfDirectory(atPath: run.folder.path + "/chain").isEmpty)

        for (option, status, words) in [("--verbose", 0, "[2 bytes"), ("--response-body-mode=print", 74, "no UTF-8")] {
            let binary = try await CommandRun(["tnl", option, origin.url + "/binary"])
            #expect(binary.status == status && (binary.output + binary.talk).contains(words))
        }
    }
}
#endif
