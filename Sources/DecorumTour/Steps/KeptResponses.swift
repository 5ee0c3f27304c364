import Decorum
import DecorumTesting
import Foundation

struct KeptResponses: Step {
    let title = "A cache serves fresh responses, validates stale ones, and survives a restart"
    let pointer = "The lines `Decorum;…`, which are in the terms of RFC 9211: hit, fwd, ttl, stored."
    let code = ".caching(in: FileResponseStore(directory: caches))"

    func run(on stage: Stage) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-tour-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        stage.origin.route(.get, "/headlines") { request in
            let fields: RawFields = ["ETag": "\"v1\"", "Cache-Control": "max-age=60, stale-while-revalidate=600"]
            return request.fields["If-None-Match"] == "\"v1\""
                ? LoopbackOrigin.Answer(.notModified, fields: fields)
                : LoopbackOrigin.Answer(fields: fields, body: "Cache survives restart.")
        }
        var app = try App(folder: folder, stage: stage)

        try await app.get(expecting: "Decorum;fwd=uri-miss;stored")
        try await app.get(expecting: "Decorum;hit;ttl=60")
        app.clock.advance(by: .seconds(100))
        try await app.get(
            expecting: "Decorum;hit;ttl=-40;detail=\"stale, as the request accepts (RFC 9111, 4.2.4)\"")
        try await app.spawner.finished()
        try await app.get(expecting: "Decorum;hit;ttl=60")
        app.clock.advance(by: .seconds(3600))
        try await app.get(expecting: "Decorum;fwd=stale;fwd-status=304;ttl=60;stored")

        stage.terminal.app("The app is restarted.")
        app = try App(folder: folder, stage: stage, clock: app.clock)
        try await app.get(expecting: "Decorum;hit;ttl=60")
    }

    /// One run of an app; the next run continues with the same clock.
    private struct App {
        let stage: Stage
        let clock: VirtualClock
        let spawner = TrackingSpawner()
        let connection: any Connection

        init(folder: URL, stage: Stage, clock: VirtualClock = VirtualClock(date: .now)) throws {
            self.stage = stage
            self.clock = clock
            connection = try SystemConnection()
                .printingMessages(on: stage.terminal)
                .caching(in: FileResponseStore(directory: folder), clock: clock, spawner: spawner)
                .resolving(against: stage.origin.url)
        }

        func get(expecting status: String) async throws {
            stage.terminal.app("GET /headlines")
            let response = try await connection.send(.get("/headlines"))
            let text = try await response.body.text(upTo: 1000)
            let told = response.metadata.cacheStatus?.description ?? "nothing"
            stage.terminal.app("\(response.status.code), \(told): \(text)")
            try stage.check(text == "Cache survives restart.", "the content is the server's")
            try stage.check(told == status, "the cache reports \(status)")
        }
    }
}
