#if CommandLine
import ArgumentParser
import Decorum
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

@Suite(.timeLimit(.minutes(10))) struct ServeCommandTests {
    @Test func `The rules are those of the mode, and pauses are played if asked for`() throws {
        let modes = [[], ["--mode", "once"], ["--mode", "strict", "--latency", "recorded"]]
        let rules = try modes.map { try ServeCommand.parse(["a.har"] + $0).rules { _ in } }
        #expect(rules.map(\.repeats) == [.last, .once, .once] && rules.map(\.order) == [.any, .any, .strict])
        #expect(rules.map(\.timing) == [.immediate, .immediate, .recorded])
    }

    static let archive: String = {
        var head = RecordingTests.interaction("/feed", json: "")
        var post = RecordingTests.interaction("/new", status: 201, json: "{}")
        (head.request.method, post.request.method, post.request.body.bytes) = ("HEAD", "POST", Data("a=1".utf8))
        post.request.fields = [.contentType: "application/x-www-form-urlencoded"]
        return RecordingTests.archive(RecordingTests.interaction("/feed?page=1", json: #"{"id":1}"#), head, post)
    }()

    static let requests: [(method: String, target: String, body: String, answer: String)] = [
        ("GET", "/feed?page=1", "", #"200 {"id":1}"#), ("HEAD", "/feed", "", "200 "), ("POST", "/new", "a=1", "201 {}"),
        ("GET", "/feed?page=2", "", "599 No recording matches\n  GET https://api.example.com/feed?page=2\n"),
        ("POST", "/new", "a=2", "599 No recording matches\n  POST https://api.example.com/new\n"),
    ]

    static let curl = RunningScript.program("curl", variable: "DECORUM_CURL_PROGRAM")
    static let python = RunningScript.program("python3", variable: "DECORUM_PYTHON")

    /// Sends a request, and writes the status and the content of the answer; its arguments are the method, the URL and the body.
    static let clients = [
        """
        case $1 in HEAD) set -- "$2" -I -o /dev/null;; *) set -- "$2" -X "$1" ${3:+-d "$3"};; esac
        "\(curl ?? "")" -s -w '%{stderr}%{http_code} ' "$@" 2>code >content
        cat code content
        """,
        #"""
        "\#(python ?? "")" - "$@" <<'END'
        import sys, urllib.error, urllib.request
        method, url, body = sys.argv[1:]
        try:
            answer = urllib.request.urlopen(urllib.request.Request(url, body.encode() or None, method=method))
        except urllib.error.HTTPError as error:
            answer = error
        sys.stdout.write("%d %s" % (answer.status, answer.read().decode()))
        END
        """#,
    ]

    @Test(.enabled(if: curl != nil && python != nil, "curl and Python are not installed."))
    func `curl and Python get what is recorded, or 599 with the nearest request, until an interrupt`() async throws {
        let server = try RunningScript(
            "exec \(RunningScript.quoted(CommandRun.program.path)) serve a.har 2>talk",
            files: ["a.har": Data(Self.archive.utf8)])
        func text(_ name: String) throws -> String {
            try String(contentsOf: server.folder.appending(path: name), encoding: .utf8)
        }
        let url = try await server.waitForOutput(of: "\n").trimmingCharacters(in: .newlines)
        #expect(url.hasPrefix("http://127.0.0.1:"))

        for client in Self.clients {
            for row in Self.requests {
                let arguments = [row.method, url + row.target, row.body].map(RunningScript.quoted)
                let script = "sh client \(arguments.joined(separator: " "))"
                let answer = try await RunningScript.output(of: script, files: ["client": Data(client.utf8)])
                let words = String(decoding: answer, as: UTF8.self)
                #expect(words == row.answer || row.answer.hasPrefix("599") && words.hasPrefix(row.answer), "\(row)")
                let difference = "    recorded  page=1\n    now       page=2\n"
                #expect(words.contains(difference) == row.target.hasSuffix("2") && !words.contains("CASSETTE="))
            }
        }

        let process = try #require(Int32(text("pid").trimmingCharacters(in: .newlines)))
        #expect(kill(process, SIGINT) == 0)
        try await server.waitForFile("ended")
        #expect(try text("status") == "130\n")
        #expect(try text("talk").contains("599  GET https://api.example.com/feed?page=2"))
    }

    @Test func `A port that is in use is told`() async throws {
        let origin = try LoopbackOrigin()
        let run = try await CommandRun(["serve", "a.har", "--port", "\(origin.port)"], files: ["a.har": Self.archive])
        #expect(run.status == 69)
        #expect(run.talk.hasPrefix("decorum: The server cannot listen on port \(origin.port) of 127.0.0.1."))
        origin.stop()
    }
}
#endif
