import Decorum
import DecorumTesting

struct Retry: Step {
    let title = "A busy server is asked again after the time that it names: 503, Retry-After: 1"
    let pointer = "The pause between the two requests."
    let code = ".retrying()"

    func run(on stage: Stage) async throws {
        stage.origin.enqueue(
            LoopbackOrigin.Answer(.serviceUnavailable, fields: ["Retry-After": "1"]),
            LoopbackOrigin.Answer(body: "Sorry for the wait."))
        let start = ContinuousClock.now

        let (response, text) = try await stage.get("/busy", as: "busy")

        try stage.check(text == "Sorry for the wait.", "the second answer is returned")
        try stage.check(response.metadata.attempts == 2, "there were two attempts")
        try stage.check(ContinuousClock.now - start >= .seconds(1), "the second attempt was sent after a second")
    }
}
