import Decorum
import DecorumTesting

struct PlainAnswer: Step {
    let title = "A request, an answer"
    let pointer = "The lines `http`: the fields that the stack has added."
    let code = "connection.send(.get(\"/hello\"))"

    func run(on stage: Stage) async throws {
        stage.origin.route(.get, "/hello", LoopbackOrigin.Answer(body: "Good morning."))

        let (response, text) = try await stage.get("/hello", as: "hello")

        try stage.check(response.status == .ok && text == "Good morning.", "the answer arrives as it was sent")
        let received = stage.origin.requests.last
        try stage.check(received?.fields["Accept-Language"] == "en", "the request carries the default fields")
    }
}
