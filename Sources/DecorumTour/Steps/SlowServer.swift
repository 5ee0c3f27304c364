import Decorum
import DecorumTesting

struct SlowServer: Step {
    let title = "A call ends at its deadline, however the server delays it: endless 103, Retry-After: 60"
    let code = ".limitingTime()"

    func run(on stage: Stage) async throws {
        let other = try stage.anew(on: SystemConnection())
        let connection = other.connection.limitingTime(TimePolicy(call: .milliseconds(500)))
        let hints = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 5000)
        stage.origin.route(.get, "/dripping", .script(.trickle(hints, by: 28, every: .milliseconds(10))))
        stage.origin.route(.get, "/later", .init(.serviceUnavailable, fields: ["Retry-After": "60"]))
        let start = ContinuousClock.now

        stage.terminal.app("GET /dripping")
        do {
            _ = try await connection.send(stage.request("/dripping", as: "dripping"))
            try stage.check(false, "a server that drips gives an answer")
        } catch let error as TransportError {
            stage.terminal.app(error.description)
            try stage.check(error.code == .deadlineExceeded, "the deadline has ended the call")
        }

        stage.terminal.app("GET /later")
        do {
            _ = try await connection.send(stage.request("/later", as: "later"))
            try stage.check(false, "the server is ready")
        } catch let error as StatusError {
            stage.terminal.app(error.description)
            try stage.check(error.status == .serviceUnavailable, "the answer that there is was returned")
        }
        try stage.check(ContinuousClock.now - start < .seconds(30), "no call has waited for a minute")
    }
}
