#if CommandLine
import Decorum
import DecorumTesting
import Foundation

extension Step {
    static let command = Step(
        title: "The command sends through a whole stack too, and checks what comes back",
        look: "The retry that --explain tells, and the exit status that a script reads.",
        code: "decorum --explain --expect 'json $.price == 3' http://127.0.0.1:…/tea currency==EUR; echo $?"
    ) { stage in
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "decorum")
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            return stage.terminal.text("It is not built. Run `swift build --traits CommandLine --product decorum`.")
        }
        let answer = LoopbackOrigin.Answer(fields: ["Content-Type": "application/json"], body: "{\"price\": 3}\n")
        stage.origin.enqueue(.init(.serviceUnavailable, fields: ["Retry-After": "0"]), answer, answer)
        for price in [3, 4] {
            let words = ["--no-config", "--explain", "--expect", "json $.price == \(price)", stage.origin.url + "/tea"]
            let line = ([program.path] + words + ["currency==EUR"]).map(RunningScript.quoted).joined(separator: " ")
            let script = "set +e; unset DECORUM_STACK; \(line); status=$?; echo exit status $status"
            let output = try await RunningScript.output(of: script)
            stage.terminal.text(lines: String(decoding: output, as: UTF8.self))
        }
        let requests = stage.origin.requests.filter { $0.target == "/tea?currency=EUR" }
        try stage.check(requests.count == 3, "the item of the query is sent, and the first request again")
    }
}
#endif
