import Decorum
import DecorumTesting

struct UnsafeRequest: Step {
    let title = "A POST removes the responses of its own URL alone, and a response that is not stored says why"
    let pointer = "The reason why the answer to the POST is not stored, with the section of the RFC."
    let code = "response.metadata.cacheStatus?.detail"

    func run(on stage: Stage) async throws {
        stage.origin.route(
            .get, "/photo", LoopbackOrigin.Answer(fields: ["Cache-Control": "max-age=3600"], body: "A photo."))
        stage.origin.route(.post, "/likes", LoopbackOrigin.Answer(fields: ["Cache-Control": "max-age=3600"]))
        let connection = try SystemConnection()
            .printingMessages(on: stage.terminal)
            .caching(in: MemoryResponseStore())
            .resolving(against: stage.origin.url)

        stage.terminal.app("GET /photo; its content is read after a POST /likes")
        let photo = try await connection.send(.get("/photo"))
        let like = try await connection.send(.post("/likes", body: "1"))
        let reason = like.metadata.cacheStatus?.detail ?? "nothing"
        stage.terminal.app("POST /likes, \(reason)")
        let first = try await photo.body.text(upTo: 1000)

        stage.terminal.app("GET /photo")
        let again = try await connection.send(.get("/photo"))
        let second = try await again.body.text(upTo: 1000)
        stage.terminal.app("\(again.metadata.cacheStatus?.description ?? "nothing"): \(second)")

        try stage.check(reason.contains("RFC 9110, 9.3.3"), "the reason names the section of the RFC")
        try stage.check(again.metadata.source == .cache && second == first, "the POST concerns no other URL")
    }
}
