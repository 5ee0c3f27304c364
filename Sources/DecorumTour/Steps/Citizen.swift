import Decorum
import DecorumTesting

struct Citizen: Step {
    let title = "A server that asks for a pause gets it, and a call that cannot wait fails at once"
    let code = ".pacing().retrying(), with request.options.deadline = .now + .seconds(2)"

    func run(on stage: Stage) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.route(.get, "/", LoopbackOrigin.Answer(.serviceUnavailable, fields: ["Retry-After": "30"]))
        let connection = SystemConnection().printingMessages(on: stage.terminal).pacing().retrying()

        let busy = try await call(origin.url, over: connection, on: stage)
        try stage.check(busy.error == nil, "the call returns the 503 that it has, since a retry would come too late")

        let paced = try await call(origin.url, over: connection, on: stage)
        try stage.check(paced.error is PacingError, "the next call is not sent")
        try stage.check(origin.requests.count == 1, "the server was asked once")
        try stage.check(!busy.history.isEmpty && !paced.history.isEmpty, "the history of each call gives the reason")
    }

    private func call(
        _ url: String, over connection: some Connection, on stage: Stage
    ) async throws -> (error: (any Error)?, history: [CallDecision]) {
        let context = CallContext(keepingHistory: 10)
        var request = try Request.get(url + "/")
        request.options.callContext = context
        request.options.deadline = .now + .seconds(2)
        stage.terminal.app("GET / with a deadline in 2 s")
        var failure: (any Error)?
        do {
            stage.terminal.app("\(try await connection.send(request).status.code)")
        } catch {
            failure = error
            stage.terminal.app("\(error)")
        }
        for decision in context.history { stage.terminal.app("history: \(decision)") }
        return (failure, context.history)
    }
}
