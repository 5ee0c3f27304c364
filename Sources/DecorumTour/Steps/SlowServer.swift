import Decorum
import DecorumTesting

struct SlowServer: Step {
    let title = "A call ends at its deadline, however the server delays it: endless 103, Retry-After: 60"
    let pointer = "The server sends something all the time, and the call ends at its deadline all the same."
    let code = ".limitingTime()"

    func run(on stage: Stage) async throws {
        let other = try stage.anew(on: SystemConnection())
        let connection = other.connection.limitingTime(TimePolicy(call: .milliseconds(500)))
        let hints = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 5000)
        stage.origin.route(.get, "/dripping", .script(.trickle(hints, by: 28, every: .milliseconds(10))))
        stage.origin.route(.get, "/later", .init(.serviceUnavailable, fields: ["Retry-After": "60"]))
        let start = ContinuousClock.now

        let dripping = await stage.call(try stage.request("/dripping", as: "dripping"), over: connection)
        let failure = dripping.error as? TransportError
        try stage.check(failure?.code == .deadlineExceeded, "the deadline has ended the call")

        let later = await stage.call(try stage.request("/later", as: "later"), over: connection)
        let refusal = later.error as? StatusError
        try stage.check(refusal?.status == .serviceUnavailable, "the answer that there is was returned")
        try stage.check(ContinuousClock.now - start < .seconds(30), "no call has waited for a minute")
        try stage.check(
            [dripping, later].allSatisfy(\.givesUp), "the history of each call gives the reason")
    }
}
