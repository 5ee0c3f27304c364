import Decorum
import DecorumTesting
import Foundation

extension Step {
    static let citizen = Step(
        "A server that asks for a pause gets it, and a call that cannot wait fails at once",
        look: "The history of the second call: it fails at once, and nothing is sent.",
        code: ".pacing().retrying(), with request.options.deadline = .now + .seconds(2)"
    ) { stage in
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.route(.get, "/", .init(.serviceUnavailable, fields: ["Retry-After": "30"]))
        let connection = stage.transport.pacing().retrying()
        var request = try Request.get(origin.url + "/")
        request.options.deadline = .now + .seconds(2)
        let busy = await stage.call(request, over: connection)
        try stage.check(
            busy.status == .serviceUnavailable, "the call returns the 503, since a retry would come too late")
        let paced = await stage.call(request, over: connection)
        try stage.check(paced.error is PacingError, "the next call is not sent")
        try stage.check(origin.requests.count == 1, "the server was asked once")
        try stage.check(busy.givesUp && paced.givesUp, "the history of each call gives the reason")
    }

    static let slowServer = Step(
        "A call ends at its deadline, however the server delays it: endless 103, Retry-After: 60",
        look: "The server sends something all the time, and the call ends at its deadline all the same.",
        code: ".limitingTime()"
    ) { stage in
        let connection = stage.connection.limitingTime(TimePolicy(call: .milliseconds(500)))
        let hints = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 5000)
        stage.origin.route(.get, "/dripping", .script(.trickle(hints, by: 28, every: .milliseconds(10))))
        stage.origin.route(.get, "/later", .init(.serviceUnavailable, fields: ["Retry-After": "60"]))
        let start = ContinuousClock.now
        let dripping = await stage.call(try .get("/dripping"), over: connection)
        try stage.check(
            (dripping.error as? TransportError)?.code == .deadlineExceeded, "the deadline has ended the call")
        let later = await stage.call(try .get("/later"), over: connection)
        try stage.check(
            (later.error as? StatusError)?.status == .serviceUnavailable, "the answer of the server was returned")
        try stage.check(ContinuousClock.now - start < .seconds(30), "no call has waited for a minute")
        try stage.check(dripping.givesUp && later.givesUp, "the history of each call gives the reason")
    }

    static let wrongOrder = Step(
        "A wrong order is found before the first request, with the line to change and the worst case",
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
        try stage.check(
            refusal?.refused.map(\.hazard) == ["signatureOutsideOfRetries", "signatureOutsideOfRedirections"],
            "the signature is found at the wrong place")
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
        "A stack from settings knows its worst case",
        look: "The bounds that are computed, and the number of requests that the server got.",
        code: "let connection = try stack.composed(); print(connection.explain())"
    ) { stage in
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
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
        try stage.check(failure is StatusError, "the call fails with the last status")
        try stage.check(sent == 12, "each of the three targets got four requests")
        try stage.check(sent <= connection.bounds.requests.value ?? 0, "no more were sent than the bounds say")
        try stage.check(connection.bounds.duration.value != nil, "the time of a call has a limit")
    }
}
