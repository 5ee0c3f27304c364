import Decorum
import DecorumTesting
import Foundation

extension Step {
    static let plainAnswer = Step(
        "A request, an answer", look: "The lines `http`: the fields that the stack has added.",
        code: #"connection.send(.get("/hello"))"#
    ) { stage in
        stage.origin.route(.get, "/hello", .init(body: "Good morning."))
        let (response, text) = try await stage.get("/hello")
        try stage.check(response.status == .ok && text == "Good morning.", "the answer arrives as it was sent")
        let received = stage.origin.requests.last
        try stage.check(received?.fields["Accept-Language"] == "en", "the request carries the default fields")
    }

    static let redirection = Step(
        "A redirection to a moved page is followed: 301",
        look: "The second request, and the fragment in the final URL.", code: ".followingRedirects()"
    ) { stage in
        stage.origin.route(.get, "/old", .init(.movedPermanently, fields: ["Location": "/new"]))
        stage.origin.route(.get, "/new", .init(body: "I live here now."))
        let (response, text) = try await stage.get("/old#door")
        let url = response.metadata.url?.absoluteString
        stage.terminal.app("it is from \(url ?? "nowhere"), fragment kept")
        try stage.check(text == "I live here now.", "the answer comes from the new page")
        try stage.check(url == "\(stage.origin.url)/new#door", "the URL is the new one")
        try stage.check(response.metadata.redirects.count == 1, "the metadata lists one redirection")
    }

    static let retry = Step(
        "A busy server is asked again after the time that it names: 503, Retry-After: 1",
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
        "A compressed answer is decoded while it is read",
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
        "A cancelled transfer closes its connection at once",
        look: "The time until the server sees the connection close.", code: "task.cancel()"
    ) { stage in
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
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
        let end = await transfer.result
        try await origin.waitForOpenConnections(0)
        let elapsed = (ContinuousClock.now - start) / .milliseconds(1)
        stage.terminal.app(
            "cancelled after the first MiB; the origin saw the connection close within \(Int(elapsed) + 1) ms")
        try stage.check(end.isCancelled, "the reader gets a CancellationError")
    }

    static let endedTransfers = Step(
        "All transfers of a transport end at once, as after a user has signed out",
        look: "No layer sends one of the requests again, and the transport stays open.", code: "transport.cancelAll()"
    ) { stage in
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
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
        for transfer in transfers {
            try stage.check(await transfer.result.isCancelled, "each caller gets a CancellationError")
        }
        let response = try await connection.send(.get("\(origin.url)/news"))
        stage.terminal.app("all have ended; the next request is answered: \(try await response.body.text(upTo: 1024))")
        try stage.check(origin.requests.count == paths.count + 1, "no request is sent again")
    }

    static let largeBody = Step(
        "100 MiB stream through every layer in constant memory", look: "The peak of the memory before and after.",
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
        try stage.check(count == size, "every byte arrives")
        try stage.check(before > 0 && after - before < 32 << 20, "memory stays constant")
    }

    static let analytics = Step(
        "Observers count calls and attempts",
        look: "Calls and attempts are counted apart; compare the columns of retries and hits.",
        code: ".observing(statistics, as: .attempt) … .observing(statistics)"
    ) { stage in
        let statistics = stage.statistics.snapshot()
        stage.terminal.text("A call is a request of the app, an attempt a request that was sent.")
        stage.terminal.text(lines: statistics)
        let calls = statistics.rows.filter { $0.scope == .call }
        let attempts = statistics.rows.filter { $0.scope == .attempt }
        try stage.check(calls.map(\.count).reduce(0, +) == 6, "every call was counted")
        try stage.check(attempts.map(\.count).reduce(0, +) == 8, "a retry and a redirection took further attempts")
        try stage.check(calls.map(\.errors).reduce(0, +) == 0, "no call has failed")
        try stage.check(calls.map(\.cancelled).reduce(0, +) == 1, "the cancelled request is not an error")
    }
}

extension Result<Void, any Error> {
    fileprivate var isCancelled: Bool { if case .failure(is CancellationError) = self { true } else { false } }
}
