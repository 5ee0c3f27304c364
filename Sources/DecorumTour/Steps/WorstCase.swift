import Decorum
import DecorumTesting
import Foundation

struct WorstCase: Step {
    let title = "A stack from settings knows its worst case"
    let pointer = "The bounds that are computed, and the number of requests that the server got."
    let code = "let connection = try stack.composed(); print(connection.explain())"

    func run(on stage: Stage) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let settings = """
            {
              "preset": "tool", "baseURL": "\(origin.url)", "redirectLimit": 2,
              "retries": { "retries": 3, "budget": 3, "baseDelay": 0.01, "maximumDelay": 0.04 }
            }
            """
        let stack = try JSONDecoder().decode(StandardStack.self, from: Data(settings.utf8))
        let connection = try stack.composed()
        for line in connection.explain().split(separator: "\n") { stage.terminal.text(String(line)) }

        // Each target of a redirection fails three times before it answers, and the last one fails for good.
        for number in 1...2 {
            for _ in 1...3 { origin.enqueue(LoopbackOrigin.Answer(.serviceUnavailable)) }
            origin.enqueue(LoopbackOrigin.Answer(.found, fields: ["Location": "/\(number)"]))
        }
        origin.route(.get, "/2", LoopbackOrigin.Answer(.serviceUnavailable))
        var failure: (any Error)?
        do { _ = try await connection.send(.get("/0")) } catch { failure = error }
        let sent = origin.requests.count
        stage.terminal.text("A server that fails again and again got \(sent) requests for one call.")
        try stage.check(failure is StatusError, "the call fails with the last status")
        try stage.check(sent == 12, "each of the three targets got four requests")
        try stage.check(sent <= connection.bounds.requests.value ?? 0, "no more were sent than the bounds say")
        try stage.check(connection.bounds.duration.value != nil, "the time of a call has a limit")
    }
}
