import Decorum
import DecorumTesting

struct Citizen: Step {
    let title = "A server that asks for a pause gets it, and a call that cannot wait fails at once"
    let pointer = "The history of the second call: it fails at once, and nothing is sent."
    let code = ".pacing().retrying(), with request.options.deadline = .now + .seconds(2)"

    func run(on stage: Stage) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.route(.get, "/", LoopbackOrigin.Answer(.serviceUnavailable, fields: ["Retry-After": "30"]))
        let connection = SystemConnection().printingMessages(on: stage.terminal).pacing().retrying()
        var request = try Request.get(origin.url + "/")
        request.options.deadline = .now + .seconds(2)

        let busy = await stage.call(request, over: connection)
        let status = try busy.result.get().status
        try stage.check(status == .serviceUnavailable, "the call returns the 503, since a retry would come too late")

        let paced = await stage.call(request, over: connection)
        try stage.check(paced.error is PacingError, "the next call is not sent")
        try stage.check(origin.requests.count == 1, "the server was asked once")
        try stage.check(
            [busy, paced].allSatisfy(\.givesUp), "the history of each call gives the reason")
    }
}
