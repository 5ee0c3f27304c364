import Decorum
import DecorumTesting
import HTTPTypes

struct TwoUsers: Step {
    let title = "A layer that adds an undeclared token gives no user the response of another"
    let pointer = "Nothing is stored until the stack names its principal."
    let code = ".intercepting { … /* adds the token */ }.caching(in: MemoryResponseStore()).acting(for: alice)"

    func run(on stage: Stage) async throws {
        stage.origin.route(.get, "/me") { request in
            let user = request.fields["Authorization"]?.dropFirst("Bearer ".count) ?? "stranger"
            return LoopbackOrigin.Answer(fields: ["Cache-Control": "max-age=600"], body: "Hello, \(user).")
        }
        let connection = try SystemConnection()
            .printingMessages(on: stage.terminal)
            .intercepting("adding the token") { request, base in
                var request = request
                request.head.headerFields[.authorization] = request.options[UserKey.self].map { "Bearer \($0)" }
                return try await base.send(request)
            }
            .caching(in: MemoryResponseStore())
            .resolving(against: stage.origin.url)

        for (user, isNamed, isHit) in [
            ("alice", false, false), ("bob", false, false), ("alice", true, false), ("bob", true, false),
            ("alice", true, true),
        ] {
            var request = try Request.get("/me")
            request.options[UserKey.self] = user
            stage.terminal.app("GET /me for \(user)\(isNamed ? ", the principal of the stack" : "")")
            let stack: any Connection = isNamed ? connection.acting(for: Principal(user)) : connection
            let response = try await stack.send(request)
            let text = try await response.body.text(upTo: 1000)
            stage.terminal.app("\(response.metadata.cacheStatus?.description ?? "nothing"): \(text)")
            try stage.check(text == "Hello, \(user).", "\(user) gets their own response")
            try stage.check((response.metadata.source == .cache) == isHit, "a response is stored only for a principal")
        }
    }
}

private enum UserKey: RequestOptionKey {
    static let defaultValue: String? = nil
}
