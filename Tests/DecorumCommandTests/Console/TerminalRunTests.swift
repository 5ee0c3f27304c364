#if CommandLine
import Decorum
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

@Suite(
    .timeLimit(.minutes(3)),
    .enabled(if: RunningScript.program("tmux", variable: "DECORUM_TMUX") != nil, "tmux is not installed"))
struct TerminalRunTests {
    /// What runs in the terminal; each screen is read once all of it is there.
    private static let session = #"""
        see() {
            echo "end of $1"
            await "end of $1" >/dev/null
            tmux capture-pane -p -J | sed -n 's/ *$//; /./p' >"$1"
            tmux capture-pane -p -e >"$1.styles"
            printf '\033[2J\033[H'
        }
        await() { until tmux capture-pane -p | grep "$1"; do sleep 0.02; done; }
        decorum request --help; see help
        decorum -v $URL/tea; see colored
        NO_COLOR=1 decorum -v $URL/tea; see plain
        { await token: >prompt; tmux send-keys s3cret Enter; } & decorum --bearer prompt $URL/tea; see asked
        decorum --show-secrets --curl $URL/tea X-Token:s3cret; see curl
        decorum $URL/text; decorum --color never $URL/binary; echo status $?; see binary
        decorum -o film $URL/film & await '1.0 MB of' >progress; : >shown; wait; see after
        : >done
        """#

    @Test(arguments: [40, 80, 200])
    func `In a terminal, lines fit, progress goes away, and colours, secrets and questions follow the rules`(
        width: Int
    ) async throws {
        let (origin, gate) = (try LoopbackOrigin(), Gate())
        let json = #"{"a":"\#u{9B}","b":[1]}"#
        origin.route(nil, "/tea", .init(fields: ["Content-Type": "application/json"], body: json))
        origin.route(nil, "/text", .init(body: "a\u{1B}[31m"))
        origin.route(nil, "/binary", .init(body: "\u{0}"))
        let half = LoopbackOrigin.Step.generated(1_000_000)
        origin.route(nil, "/film", .script(.head(.ok, ["Content-Length": "2000000"]), half, .wait(gate), half))
        let folder = RunningScript.quoted(CommandRun.program.deletingLastPathComponent().path)
        let run = try RunningScript(
            """
            env -i HOME="$PWD" PATH=\(folder):"$PATH" URL=\(origin.url) tmux -S "$PWD/socket" -f /dev/null \
                new-session -d -x \(width) -y 500 'sh session'
            until [ -e done ]; do sleep 0.02; done
            """, files: ["session": Data(Self.session.utf8)])
        try await run.waitForFile("shown")
        gate.open()
        try await run.waitForFile("done")
        func lines(_ name: String) throws -> [String] {
            let data = try Data(contentsOf: run.folder.appending(path: name))
            return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        // The parser breaks neither a word nor the usage.
        let long = try lines("help").filter { $0.count > width && $0.split(separator: " ").count > 1 }
        #expect(long.allSatisfy { $0.hasPrefix("USAGE:") })
        let shown = ["{", #"  "a": "\u{009B}","#, #"  "b": ["#, "    1", "  ]", "}"]
        for name in ["colored", "plain", "asked"] {
            #expect(try lines(name).suffix(7) == shown + ["end of \(name)"])
            #expect(try lines(name + ".styles").contains { $0.contains("\u{1B}[") } == (name != "plain"))
            #expect(try lines(name).contains { $0.contains("identifyingClient") } == (name != "asked"))
        }
        #expect(try lines("asked")[0] == "token:" && !lines("asked").joined().contains("s3cret"))
        #expect(origin.requests.map { $0.fields["Authorization"] }.contains("Bearer s3cret"))
        #expect(try lines("curl").joined().contains("s3cret"))
        let binary = try lines("binary")
        #expect(binary.contains(#"a\u{1B}[31m"#) && binary.suffix(2) == ["status 10", "end of binary"], "\(binary)")
        #expect(binary.contains { $0.hasPrefix("decorum: Binary content is not shown in a terminal.") })
        let progress = try lines("progress")
        #expect(progress.count == 1 && progress[0].hasPrefix("1.0 MB of 2.0 MB, 50 %") && progress[0].count <= width)
        #expect(try lines("after") == ["end of after"])
    }
}
#endif
