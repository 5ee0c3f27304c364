import Decorum
import DecorumTesting
import Foundation

extension Step {
    static let revalidation = Step(
        "An unchanged page is not transferred again: 304",
        look: "The second request has If-None-Match, and the app sees a 200 with the stored content.",
        code: ".revalidating(in: MemoryResponseStore())"
    ) { stage in
        stage.origin.route(.get, "/feed") { request in
            let fields: RawFields = ["ETag": "\"v1\""]
            return request.fields["If-None-Match"] == "\"v1\""
                ? .init(.notModified, fields: fields) : .init(fields: fields, body: "Today's news.")
        }
        let first = try await stage.get("/feed")
        let second = try await stage.get("/feed")
        try stage.check(second.text == first.text, "both answers have the same content")
        try stage.check(second.response.status == .ok, "the app sees a 200")
        try stage.check(second.response.metadata.source == .revalidated, "the second content came from the store")
    }

    static let keptResponses = Step(
        "A cache serves fresh responses, validates stale ones, and survives a restart",
        look: "The lines `Decorum;…`, which are in the terms of RFC 9211: hit, fwd, ttl, stored.",
        code: ".caching(in: FileResponseStore(directory: caches))"
    ) { stage in
        let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-tour-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        stage.origin.route(.get, "/headlines") { request in
            let fields: RawFields = ["ETag": "\"v1\"", "Cache-Control": "max-age=60, stale-while-revalidate=600"]
            return request.fields["If-None-Match"] == "\"v1\""
                ? .init(.notModified, fields: fields) : .init(fields: fields, body: "Cache survives restart.")
        }
        let clock = VirtualClock(date: .now)
        let spawner = TrackingSpawner()
        func app() throws -> any Connection {
            try stage.transport
                .caching(in: FileResponseStore(directory: folder), clock: clock, spawner: spawner)
                .resolving(against: stage.origin.url)
        }
        func get(from app: any Connection, expecting status: String) async throws {
            let (response, text) = try await stage.get("/headlines", over: app)
            try stage.check(text == "Cache survives restart.", "the content is the server's")
            try stage.check(response.metadata.cacheStatus?.description == status, "the cache reports \(status)")
        }
        let first = try app()
        try await get(from: first, expecting: "Decorum;fwd=uri-miss;stored")
        try await get(from: first, expecting: "Decorum;hit;ttl=60")
        clock.advance(by: .seconds(100))
        try await get(from: first, expecting: "Decorum;hit;ttl=-40;detail=\"stale-while-revalidate (RFC 5861, 3)\"")
        try await spawner.finished()
        try await get(from: first, expecting: "Decorum;hit;ttl=60")
        clock.advance(by: .seconds(3600))
        try await get(from: first, expecting: "Decorum;fwd=stale;fwd-status=304;ttl=60;stored")
        stage.terminal.app("The app is restarted.")
        try await get(from: app(), expecting: "Decorum;hit;ttl=60")
    }

    static let unsafeRequest = Step(
        "A POST removes the responses of its own URL alone, and a response that is not stored says why",
        look: "The reason why the answer to the POST is not stored, with the section of the RFC.",
        code: "response.metadata.cacheStatus?.detail"
    ) { stage in
        let fields: RawFields = ["Cache-Control": "max-age=3600"]
        stage.origin.route(.get, "/photo", .init(fields: fields, body: "A photo."))
        stage.origin.route(.post, "/likes", .init(fields: fields))
        let connection = try stage.transport
            .caching(in: MemoryResponseStore())
            .resolving(against: stage.origin.url)
        stage.terminal.app("GET /photo; its content is read after a POST /likes")
        let photo = try await connection.send(.get("/photo"))
        let like = try await connection.send(.post("/likes", body: "1"))
        let reason = like.metadata.cacheStatus?.detail ?? "nothing"
        stage.terminal.app("POST /likes, \(reason)")
        let first = try await photo.body.text(upTo: 1000)
        let again = try await stage.get("/photo", over: connection)
        try stage.check(reason.contains("RFC 9110, 9.3.3"), "the reason names the section of the RFC")
        try stage.check(
            again.response.metadata.source == .cache && again.text == first, "the POST concerns no other URL")
    }

    static let twoUsers = Step(
        "A layer that adds an undeclared token gives no user the response of another",
        look: "Nothing is stored until the stack names its principal.",
        code: ".intercepting { … /* adds the token */ }.caching(in: MemoryResponseStore()).acting(for: alice)"
    ) { stage in
        stage.origin.route(.get, "/me") { request in
            let user = request.fields["Authorization"]?.dropFirst("Bearer ".count) ?? "stranger"
            return .init(fields: ["Cache-Control": "max-age=600"], body: "Hello, \(user).")
        }
        let connection = try stage.transport
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
            stage.terminal.app("for \(user)\(isNamed ? ", the principal of the stack" : "")")
            let stack: any Connection = isNamed ? connection.acting(for: Principal(user)) : connection
            let (response, text) = try await stage.get("/me", over: stack) { $0.options[UserKey.self] = user }
            try stage.check(text == "Hello, \(user).", "\(user) gets their own response")
            try stage.check((response.metadata.source == .cache) == isHit, "a response is stored only for a principal")
        }
    }
}

private enum UserKey: RequestOptionKey {
    static let defaultValue: String? = nil
}
