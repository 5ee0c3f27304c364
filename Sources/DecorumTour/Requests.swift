import Decorum
import DecorumTesting
import Foundation

extension Step {
    static let plainAnswer = Step(
        title: "A request, an answer", look: "The lines `http`: the fields that the stack has added.",
        code: #"connection.send(.get("/hello"))"#
    ) { stage in
        stage.origin.route(.get, "/hello", .init(body: "Good morning."))
        let (response, text) = try await stage.get("/hello")
        try stage.check(response.status == .ok && text == "Good morning.", "the answer arrives as it was sent")
        let received = stage.origin.requests.last
        try stage.check(received?.fields["Accept-Language"] == "en", "the request carries the default fields")
    }

    static let redirection = Step(
        title: "A redirection to a moved page is followed: 301",
        look: "The second request, and the fragment in the final URL.", code: ".followingRedirects()"
    ) { stage in
        stage.origin.route(.get, "/old", .init(.movedPermanently, fields: ["Location": "/new"]))
        stage.origin.route(.get, "/new", .init(body: "I live here now."))
        let (response, text) = try await stage.get("/old#door")
        let url = response.metadata.url?.absoluteString
        stage.terminal.app("it is from \(url ?? "nowhere"), fragment kept")
        try stage.check(text == "I live here now.", "the answer comes from the new page")
        let isListed = response.metadata.redirects.count == 1
        try stage.check(isListed && url == "\(stage.origin.url)/new#door", "the metadata has the new URL")
    }

    static let retry = Step(
        title: "A busy server is asked again after the time that it names: 503, Retry-After: 1",
        look: "The pause between the two requests.", code: ".retrying()"
    ) { stage in
        stage.origin.enqueue(
            .init(.serviceUnavailable, fields: ["Retry-After": "1"]), .init(body: "Sorry for the wait."))
        let start = ContinuousClock.now
        let (response, text) = try await stage.get("/busy")
        try stage.check(text == "Sorry for the wait.", "the second answer is returned")
        try stage.check(response.metadata.attempts == 2, "there were two attempts")
        try stage.check(ContinuousClock.now - start >= .seconds(1), "the second attempt was sent after a second")
    }

    static let compressedAnswer = Step(
        title: "A compressed answer is decoded while it is read",
        look: "The number of bytes that came, and the number that was read.", code: ".decompressing()"
    ) { stage in
        // A list of fifty items in gzip.
        let list = """
            H4sIAAAAAAACA6tWyixJzS1WslKIrlbKS8xNBbKUSjJSFYqBbAWwgI6CUkFRZjJIxqBWR2FU2aiyUWWjykaVjSobVUYnZbG1ANu+dBOpBwAA
            """
        let coded = Data(base64Encoded: list) ?? Data()
        stage.origin.route(.get, "/list", .init(fields: ["Content-Encoding": "gzip"], body: coded))
        let (response, text) = try await stage.get("/list")
        stage.terminal.app("\(coded.count) bytes came, and \(text.utf8.count) were read")
        try stage.check(text.utf8.count == 1961, "all of the content is read")
        try stage.check(response.metadata.decodedContentCodings == ["gzip"], "the metadata has the coding")
        try stage.check(response.head.headerFields[.contentEncoding] == nil, "the head no longer has the coding")
    }

    static let cancelledTransfer = Step(
        title: "A cancelled transfer closes its connection at once",
        look: "The time until the server sees the connection close.", code: "task.cancel()"
    ) { stage in
        let origin = try LoopbackOrigin()
        origin.route(.get, "/endless", .generated(count: 1 << 40))
        let started = Gate()
        let connection = stage.connection
        let request = try Request.get("\(origin.url)/endless")
        stage.terminal.app("GET /endless, a body of 1 TiB")
        let transfer = Task {
            var count = 0
            for try await chunk in try await connection.send(request).body {
                count += chunk.count
                if count > 1 << 20 { started.open() }
            }
        }
        try await started.wait()
        let start = ContinuousClock.now
        transfer.cancel()
        try stage.check(await transfer.result.isCancelled, "the reader gets a CancellationError")
        try await origin.waitForOpenConnections(0)
        let time = Int((ContinuousClock.now - start) / .milliseconds(1)) + 1
        stage.terminal.app("cancelled after the first MiB; the origin saw the connection close within \(time) ms")
    }

    static let endedTransfers = Step(
        title: "All transfers of a transport end at once, as after a user has signed out",
        look: "No layer sends one of the requests again, and the transport stays open.", code: "transport.cancelAll()"
    ) { stage in
        let origin = try LoopbackOrigin()
        let paths = ["/messages", "/photos", "/contacts"]
        for path in paths { origin.route(.get, path, .hanging) }
        origin.route(.get, "/news", .init(body: "nothing new"))
        let transport = SystemConnection()
        let connection = try Stage(terminal: stage.terminal, over: stage, transport: transport).connection
        let requests = try paths.map { try Request.get("\(origin.url)\($0)") }
        let transfers = requests.map { request in Task { _ = try await connection.send(request) } }
        stage.terminal.app("three requests, which the server does not answer")
        try await origin.waitForRequests(paths.count)
        transport.cancelAll()
        for end in transfers { try stage.check(await end.result.isCancelled, "each caller gets a CancellationError") }
        let response = try await connection.send(.get("\(origin.url)/news"))
        stage.terminal.app("all have ended; the next request is answered: \(try await response.body.text(upTo: 1024))")
        try stage.check(origin.requests.count == paths.count + 1, "no request is sent again")
    }

    static let largeBody = Step(
        title: "100 MiB stream through every layer in constant memory",
        look: "The peak of the memory before and after.",
        code: "for try await chunk in response.body { … }"
    ) { stage in
        let size: Int64 = 100 << 20
        stage.origin.route(.get, "/film", .generated(count: size))
        stage.terminal.app("GET /film")
        let before = ProcessMemory.peak
        let response = try await stage.connection.send(.get("/film"))
        var count: Int64 = 0
        for try await chunk in response.body {
            try stage.check(BytePattern.matches(chunk, at: count), "every byte is correct")
            let next = count + Int64(chunk.count)
            if next / (size / 4) > count / (size / 4) { stage.terminal.app("\(next >> 20) MiB of \(size >> 20)") }
            count = next
        }
        let after = ProcessMemory.peak
        stage.terminal.app("at its peak the process took \(before >> 20) MiB before, and \(after >> 20) MiB now")
        try stage.check(count == size && before > 0 && after - before < 32 << 20, "memory stays constant")
    }

    static let analytics = Step(
        title: "Observers count calls and attempts",
        look: "Calls and attempts are counted apart; compare the columns of retries and hits.",
        code: ".observing(statistics, as: .attempt) … .observing(statistics)"
    ) { stage in
        let statistics = stage.statistics.snapshot()
        stage.terminal.text("A call is a request of the app, an attempt a request that was sent.")
        stage.terminal.text(lines: statistics)
        let calls = statistics.rows.filter { $0.scope == .call }
        let attempts = statistics.rows.filter { $0.scope == .attempt }.map(\.count).reduce(0, +)
        try stage.check(calls.map(\.count).reduce(0, +) == 6, "every call was counted")
        try stage.check(attempts == 8, "a retry and a redirection took further attempts")
        try stage.check(calls.map(\.errors).reduce(0, +) == 0, "no call has failed")
        try stage.check(calls.map(\.cancelled).reduce(0, +) == 1, "the cancelled request is not an error")
    }

    static let revalidation = Step(
        title: "An unchanged page is not transferred again: 304",
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
        try stage.check(second.response.status == .ok && second.text == first.text, "the app sees the same 200")
        try stage.check(second.response.metadata.source == .revalidated, "the second content came from the store")
    }

    static let keptResponses = Step(
        title: "A cache serves fresh responses, validates stale ones, and survives a restart",
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
        title: "A POST removes the responses of its own URL alone, and a response that is not stored says why",
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
        let isKept = again.response.metadata.source == .cache && again.text == first
        try stage.check(isKept, "the POST concerns no other URL")
    }

    static let twoUsers = Step(
        title: "A layer that adds an undeclared token gives no user the response of another",
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

extension Result<Void, any Error> {
    fileprivate var isCancelled: Bool { if case .failure(is CancellationError) = self { true } else { false } }
}

private enum UserKey: RequestOptionKey {
    static let defaultValue: String? = nil
}
