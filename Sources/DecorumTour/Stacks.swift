import Decorum
import DecorumTesting
import Foundation

extension Step {
    static let citizen = Step(
        title: "A server that asks for a pause gets it, and a call that cannot wait fails at once",
        look: "The history of the second call: it fails at once, and nothing is sent.",
        code: ".pacing().retrying(), with request.options.deadline = .now + .seconds(2)"
    ) { stage in
        let origin = try LoopbackOrigin()
        origin.route(.get, "/", .init(.serviceUnavailable, fields: ["Retry-After": "30"]))
        let connection = stage.transport.pacing().retrying()
        var request = try Request.get(origin.url + "/")
        request.options.deadline = .now + .seconds(2)
        let busy = await stage.call(request, over: connection)
        try stage.check(busy.status == .serviceUnavailable, "the call returns the 503: a retry would come too late")
        let paced = await stage.call(request, over: connection)
        try stage.check(paced.error is PacingError && origin.requests.count == 1, "the next call is not sent")
        try stage.check(busy.givesUp && paced.givesUp, "the history of each call gives the reason")
    }

    static let slowServer = Step(
        title: "A call ends at its deadline, however the server delays it: endless 103, Retry-After: 60",
        look: "The server sends something all the time, and the call ends at its deadline all the same.",
        code: ".limitingTime()"
    ) { stage in
        let connection = stage.connection.limitingTime(TimePolicy(call: .milliseconds(500)))
        let hints = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 5000)
        stage.origin.route(.get, "/dripping", .script(.trickle(hints, by: 28, every: .milliseconds(10))))
        stage.origin.route(.get, "/later", .init(.serviceUnavailable, fields: ["Retry-After": "60"]))
        let start = ContinuousClock.now
        let dripping = await stage.call(try .get("/dripping"), over: connection)
        let later = await stage.call(try .get("/later"), over: connection)
        let (end, refusal) = (dripping.error as? TransportError, later.error as? StatusError)
        try stage.check(end?.code == .deadlineExceeded, "the deadline has ended the call")
        try stage.check(refusal?.status == .serviceUnavailable, "the answer of the server was returned")
        try stage.check(ContinuousClock.now - start < .seconds(30), "no call has waited for a minute")
        try stage.check(dripping.givesUp && later.givesUp, "the history of each call gives the reason")
    }

    static let wrongOrder = Step(
        title: "A wrong order is found before the first request, with the line to change and the worst case",
        look: "The two findings, and the lines that they tell to move.",
        code: "print(connection.explain()); try connection.checked()"
    ) { stage in
        let signer = ChecksumSigner(key: Stage.key)
        stage.origin.route(.get, "/moved", .init(.found, fields: ["Location": "/place"]))
        stage.origin.route(.get, "/place") { .init(signer.verifies($0) ? .ok : .unauthorized) }
        stage.terminal.app("a stack in the wrong order")
        let wrong = try stage.transport
            .followingRedirects()
            .retrying()
            .authenticating(with: .signer(signer), for: stage.origin.origin)
            .resolving(against: stage.origin.url)
            .observing(stage.statistics)
        let refusal = await stage.error { _ = try wrong.checked() } as? CompositionError
        let hazards: [Hazard] = ["signatureOutsideOfRetries", "signatureOutsideOfRedirections"]
        try stage.check(refusal?.refused.map(\.hazard) == hazards, "the signature is found at the wrong place")
        stage.terminal.text(lines: wrong.explain())
        let refused = try await stage.get("/moved", over: wrong).response.status
        try stage.check(refused == .unauthorized, "the second request has the signature of the first")

        stage.terminal.app("the same layers, each where the findings say")
        let mended = try stage.transport
            .authenticating(with: .signer(signer), for: stage.origin.origin)
            .retrying()
            .followingRedirects()
            .resolving(against: stage.origin.url)
            .limitingTime()
            .observing(stage.statistics)
            .checked(refusing: .information)
        try stage.check(mended.findings.isEmpty && stage.connection.findings.isEmpty, "there are no findings")
        stage.terminal.text(lines: mended.explain())
        let answered = try await stage.get("/moved", over: mended).response.status
        try stage.check(answered == .ok, "each request has its own signature")
    }

    static let worstCase = Step(
        title: "A stack from settings knows its worst case",
        look: "The bounds that are computed, and the number of requests that the server got.",
        code: "let connection = try stack.composed(); print(connection.explain())"
    ) { stage in
        let origin = try LoopbackOrigin()
        let settings = """
            {
              "preset": "tool", "baseURL": "\(origin.url)", "redirectLimit": 2,
              "retries": { "retries": 3, "budget": 3, "baseDelay": 0.01, "maximumDelay": 0.04 }
            }
            """
        let stack = try JSONDecoder().decode(StandardStack.self, from: Data(settings.utf8))
        let connection = try stack.composed()
        stage.terminal.text(lines: connection.explain())
        // Each target of a redirection fails three times before it answers, and the last one fails for good.
        for number in 1...2 {
            for _ in 1...3 { origin.enqueue(.init(.serviceUnavailable)) }
            origin.enqueue(.init(.found, fields: ["Location": "/\(number)"]))
        }
        origin.route(.get, "/2", .init(.serviceUnavailable))
        let failure = await stage.error { _ = try await connection.send(.get("/0")) }
        let sent = origin.requests.count
        stage.terminal.text("A server that fails again and again got \(sent) requests for one call.")
        let bounds = connection.bounds
        try stage.check(failure is StatusError && sent == 12, "each of the three targets got four requests")
        try stage.check(sent <= bounds.requests.value ?? 0, "no more were sent than the bounds say")
        try stage.check(bounds.duration.value != nil, "the time of a call has a limit")
    }

    static let recordedSession = Step(
        title: "A session is recorded, and replayed without a server",
        look: "The file: the signature has a placeholder, and the second run needs no server.",
        code: "CassetteConnection(cassette)"
    ) { stage in
        let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-tour-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "session.json").path
        func tell(on stage: Stage) async throws {
            for step in [Step.revalidation, .redirection, .retry, .signedRequest] { try await step.run(stage) }
        }
        stage.terminal.text("Recording, with the server:")
        let recording = try Cassette(at: path, mode: .once)
        try await tell(on: Stage(terminal: stage.terminal, over: stage, transport: CassetteConnection(recording)))
        try await recording.finish()

        stage.close()
        stage.terminal.text("Replaying, with the server stopped:")
        let replaying = try Cassette(at: path)
        try await tell(on: Stage(terminal: stage.terminal, over: stage, transport: CassetteConnection(replaying)))
        try await replaying.finish()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        stage.terminal.text(lines: text.split(separator: "\n").prefix(16).joined(separator: "\n"))
        try stage.check(replaying.mode == .replay, "the second run answered from the file alone")
        try stage.check(text.contains("Checksum __credentials-1__"), "the signature has a placeholder in the file")
    }
}
