#if CommandLine
import Decorum
import DecorumTestSupport
import DecorumTesting
import DecorumTraffic
import Foundation
import Testing

@testable import DecorumCommand

@Suite(.timeLimit(.minutes(10))) struct CommandStatusTests {
    @Test func `An error that no run here can cause has the exit status of its kind`() {
        #expect(CommandStatus(of: TransportError(.hostNotFound, at: .connecting)) == .notConnected)
        #expect(CommandStatus(of: POSIXError(.EIO)) == .cannotReadOrWrite)
        #expect(CommandStatus(of: OwnError()) == .failed && CommandFailure.text(of: OwnError()) == "OwnError")
    }

    private struct OwnError: Error { let secret = "s3cret" }

    /// The words of the command for each outcome, and curl's with its number; `%` is the origin, and `_` a blank.
    private static let outcomes: [(status: Int32, words: String, curl: (number: Int32, words: String)?)] = [
        (0, "%/done", (0, "%/done")), (0, "%/same", (0, "-f %/same")), (1, "--expect-status 2xx %/none", nil),
        (2, "--timeout 200ms %/hang", (28, "-m 0.2 %/hang")), (3, "--redirects none %/away", nil),
        (4, "%/none", (22, "-f %/none")), (5, "%/500", (22, "-f %/500")), (6, "%/loop", (47, "-L %/loop")),
        (7, "http://127.0.0.1:1", (7, "http://127.0.0.1:1")), (8, "TLS", (35, "TLS")),
        (9, "%/cut", (18, "%/cut")), (9, "%/closed", (52, "%/closed")), (9, "%/reset", (56, "%/reset")),
        (10, "--bearer @token http://a.example", nil), (11, "--play empty.json --virtual-time %/done", nil),
        (12, "%/paced", (63, "--max-filesize 1 %/done")), (64, "--no-such", (2, "--no-such")),
        (64, "http://[", (3, "http://[")), (65, "--set no=1 %/done", nil),
        (66, "--body @/none %/done", (26, "-T /none %/done")), (66, "--cacert /none TLS", (77, "--cacert /none TLS")),
        (69, "--transport urlsession --http-version 2 %/done", nil),
        (73, "-o /no/a %/done", (23, "-o /no/a %/done")), (74, "-o /dev/full %/done", (23, "-o /dev/full %/done")),
        (0, "%/away", nil), (0, "--redirects get %/away", nil), (3, "--redirects get POST %/sent", nil),
        (0, "--no-check-status %/none", nil), (0, "--expect-status 4xx %/none", nil),
        (0, "--expect json_$.id_==_42 %/json", nil), (1, "--expect json_$.id_==_41 %/json", nil),
        (0, "--expect-field Content-Length:_3 %/done", nil), (1, "--max-time 0 %/done", nil),
        (9, "--fault loss:1 %/done", nil), (64, "--rate no %/done", nil),
        (0, "-o /dev/null %/done", nil), (73, "--force -o ~/ %/done", nil),
        (64, "--continue %/done", nil), (64, "--discard -o a %/done", nil), (64, "--har - %/done", nil),
        (64, "--download --expect json_$.id_==_42 %/json", nil), (64, "--bearer-env NONE %/done", nil),
        (65, "--set redirectLimit=1.5 %/done", nil), (66, "--bearer @/missing %/done", nil),
        (66, "--play /missing %/done", nil),
    ]

    private static func origin() throws -> LoopbackOrigin {
        let origin = try LoopbackOrigin()
        let nothingLeft: RawFields = ["Location": "/done", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3000"]
        let answers: KeyValuePairs<String, LoopbackOrigin.Answer> = [
            "/done": "tea", "/same": .init(.notModified), "/away": .redirect(to: "/done"),
            "/loop": .redirect(to: "/loop"), "/500": .init(.internalServerError), "/hang": .hanging,
            "/closed": .closing, "/json": #"{"id":42}"#,
            "/cut": .script(.head(.ok, ["Content-Length": "10"]), .raw("abc"), .close),
            "/reset": .script(.head(.ok, ["Content-Length": "10"]), .reset),
            "/paced": .init(.found, fields: nothingLeft, body: ""),
        ]
        for (path, answer) in answers { origin.route(.get, path, answer) }
        origin.route(.post, "/sent", .redirect(to: "/done", .temporaryRedirect))
        return origin
    }

    private static func words(_ text: String, _ origin: LoopbackOrigin) -> [String] {
        let secure = origin.url.replacing("http:", with: "https:")
        return text.split(separator: " ").map {
            String($0).replacing("%", with: origin.url).replacing("TLS", with: secure).replacing("_", with: " ")
        }
    }

    @Test func `Each outcome ends with the exit status that the page has for it`() async throws {
        let (origin, files) = (try Self.origin(), ["token": "s3cret", "empty.json": #"{"interactions":[]}"#])
        for (status, words, _) in Self.outcomes where !words.contains("/dev/full") || Self.hasFullDisk {
            let run = try await CommandRun(["--retries", "0"] + Self.words(words, origin), files: files)
            #expect(run.status == status, "\(words): \(run.talk)")
            #expect(run.talk.isEmpty == (status == 0), "\(words): \(run.talk)")
        }
        // No run fails without a number of its own, and the one of an interrupt is in the tests of signals.
        let numbers = Set(Self.outcomes.map(\.status)).union([70, 130])
        #expect(try numbers == Set(Self.page().keys) && numbers == Set(CommandStatus.allCases.map(\.rawValue)))
    }

    @Test(.enabled(if: RunningScript.program("curl", variable: "DECORUM_CURL_PROGRAM") != nil, "There is no curl."))
    func `The page has the number with which curl ends for the same outcome`() async throws {
        let (origin, page) = (try Self.origin(), try Self.page())
        for case (let status, _, let (number, words)?) in Self.outcomes
        where !words.contains("/dev/full") || Self.hasFullDisk {
            let line = (["curl", "-s"] + Self.words(words, origin)).map(RunningScript.quoted).joined(separator: " ")
            let output = try await RunningScript.output(of: "set +e; \(line) >/dev/null 2>&1; echo $?")
            #expect(output == Data("\(number)\n".utf8), "\(words)")
            #expect(page[status]?.contains(number) == true, "\(words)")
        }
    }

    private static var hasFullDisk: Bool { FileManager.default.fileExists(atPath: "/dev/full") }

    /// The numbers of curl for each exit status on the page “Sending from the command line”.
    private static func page() throws -> [Int32: [Int32]] {
        let url = Fixtures.url("../Sources/Decorum/Decorum.docc/the-command.md")
        let table =
            try String(contentsOf: url, encoding: .utf8).components(separatedBy: "## The exit status").last ?? ""
        var numbers: [Int32: [Int32]] = [:]
        for line in table.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.matches(of: /[0-9]+/).compactMap { Int32($0.output) } }
            for status in cells[0] { numbers[status] = cells[2] }
        }
        return numbers
    }
}
#endif
