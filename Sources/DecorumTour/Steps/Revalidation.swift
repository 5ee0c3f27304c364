import Decorum
import DecorumTesting

struct Revalidation: Step {
    let title = "An unchanged page is not transferred again: 304"
    let pointer = "The second request has If-None-Match, and the app sees a 200 with the stored content."
    let code = ".revalidating(in: MemoryResponseStore())"

    func run(on stage: Stage) async throws {
        stage.origin.route(.get, "/feed") { request in
            let isCurrent = request.fields["If-None-Match"] == "\"v1\""
            return isCurrent
                ? LoopbackOrigin.Answer(.notModified, fields: ["ETag": "\"v1\""])
                : LoopbackOrigin.Answer(fields: ["ETag": "\"v1\""], body: "Today's news.")
        }

        let first = try await stage.get("/feed", as: "feed")
        let second = try await stage.get("/feed", as: "feed")

        try stage.check(second.text == first.text, "both answers have the same content")
        try stage.check(second.response.status == .ok, "the app sees a 200")
        try stage.check(second.response.metadata.source == .revalidated, "the second content came from the store")
    }
}
