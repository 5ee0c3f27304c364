import Decorum
import DecorumTesting
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the body of a request is read at most once for each time that the request is sent.
    ///
    /// A layer that needs the content, such as a digest, reads it once and forwards what it has read.
    public static let requestBodiesOnce = DecoratorLaw("requestBodiesOnce") { subject in
        try await subject.each(subject.provocations) { path in
            for replay in [Body.Replay.once, .fromStart] { try await checkReadings(of: replay, in: subject, on: path) }
        }
    }

    private static func checkReadings(
        of replay: Body.Replay, in subject: DecoratorSubject, on path: ActivePath
    ) async throws {
        let content = BodyProbe(path.requestContent)
        let body = content.body(chunks: 3, replay: replay)
        let request = try path.request(.put, body: replay == .once && path.calls > 1 ? .empty : body)
        let mayChange = subject.mayChange(.requestContent, on: path)
        let sent = try await path.sendings(of: subject, with: request) { request in
            let data = request.body.isEmpty ? nil : try await request.body.collectAll().data
            try expect(mayChange || data.map { content.matches($0) } ?? true, "the content of the request")
        }
        let count = content.state.openings
        try expect(count <= max(sent, 1), "\(sent) openings, got \(count)")
    }

    /// Demands that the content of a request is read no earlier than the transport takes it.
    ///
    /// A layer that reads ahead holds an upload of any size in memory. One chunk may be ready.
    public static let requestStreaming = DecoratorLaw("requestStreaming") { subject in
        try await subject.each(subject.plainPaths.filter { $0.calls == 1 }) { path in
            let content = BodyProbe(path.requestContent)
            // If the content changes, its chunks cannot be counted after the first one was read.
            let steps = subject.mayChange(.requestContent, on: path) ? 0 : 3
            let ahead = Monitor(0)
            let request = try path.request(.put, body: content.body(chunks: 64))
            _ = try await path.provoke(subject, with: request) { request, number, outcome in
                guard number == 1 else { return try outcome.get() }
                var reader = try await request.body.open()
                for taken in 0...steps {
                    if taken > 0 { _ = try await reader.next() }
                    let count = content.state.chunksRead
                    ahead.update { $0 = max($0, count - taken) }
                }
                return try outcome.get()
            }
            try expect(ahead.state <= 1, "one chunk ahead, got \(ahead.state)")
        }
    }

    /// Demands that the trailer fields of a request reach the transport.
    public static let requestTrailers = DecoratorLaw("requestTrailers") { subject in
        let trailers: HTTPFields = [.eTag: "1", .server: "a", .eTag: "2"]
        try await subject.each(subject.plainPaths) { path in
            for knowsLength in [true, false] {
                let body = BodyProbe(path.requestContent).body(
                    chunks: 2, knowingLength: knowsLength, replay: path.isOfLaws ? .once : .fromStart,
                    trailers: trailers)
                let request = try path.request(.put, body: body)
                let sent = try await path.sendings(of: subject, with: request) { request in
                    // A request that has become one without content, as after a 303, has no trailers either.
                    guard !request.body.isEmpty || path.isOfLaws else { return }
                    try expect(try await request.body.collectAll().trailers, is: trailers, "trailers")
                }
                try expect(!path.isOfLaws || sent > 0, "sent content")
            }
        }
    }

    /// Demands that the fields of a request reach the transport: their repeats, their order, and names of any kind.
    ///
    /// `check(adding:)` takes the fields that the decorator adds by design.
    public static let requestFields = DecoratorLaw("requestFields") { subject in
        try await subject.each(subject.plainPaths) { path in
            for method in [HTTPRequest.Method.get, .post] {
                let request = try path.request(method, fields: oddFields)
                for sent in try await path.provoke(subject, with: request).requests {
                    let added = subject.addedFields(on: path)
                    try expectFields(sent.head.headerFields, include: oddFields.filter { !added.contains($0.name) })
                }
            }
        }
    }

    /// Expects the lines of some fields, and no other lines with their names.
    static func expectFields(_ received: HTTPFields, include fields: [HTTPField]) throws(ConformanceFailure) {
        let names = Set(fields.map(\.name))
        try expect(lines(received.filter { names.contains($0.name) }), is: lines(fields), "fields")
    }

    private static func lines(_ fields: some Sequence<HTTPField>) -> [String] {
        fields.map { "\($0.name.rawName): \($0.value)" }
    }

    static let oddFields = HTTPFields(
        [
            "X-Repeated": "1", "X-Other": "a, b", "X-Repeated": "2", "x-repeated": "3", "X-Empty": "",
            "!#$%&'*+-.^_`|~09": "odd", "X-Long": String(repeating: "x", count: 8 << 10), "X-Text": "naïve",
            "X-Repeated": "1",
        ] as RawFields)

    /// Demands that the options of a request reach the base each time that it is sent, known or not.
    ///
    /// A layer that makes a new request starts from the one that it got.
    public static let options = DecoratorLaw("options") { subject in
        try await subject.each(subject.provocations) { path in
            var request = try path.request()
            request.options[VendorOptionKey.self] = 42
            request.options.routeName = "resource/{id}"
            request.options.idleTimeout = .seconds(7)
            request.options.fragment = "part"
            request.options.principal = Principal("user-1")
            request.options.secretFields.insert(.accept)
            for options in try await path.provoke(subject, with: request).requests.map(\.options) {
                try expect(options[VendorOptionKey.self], is: 42, "unknown option")
                try expect(options.routeName, is: "resource/{id}", "route name")
                try expect(options.idleTimeout, is: .seconds(7), "idle timeout")
                try expect(options.fragment, is: "part", "fragment")
                try expect(options.principal == Principal("user-1"), "the principal")
                try expect(
                    options.secretFields.isSuperset(of: request.options.secretFields), "the secret fields")
            }
        }
    }

    /// Demands that a layer which has nothing to do changes nothing.
    ///
    /// An ordinary request passes once, and its ordinary response comes back, both as they were: method, target, fields,
    /// the length, the replay rule and the content of bodies, and the metadata that transports set. Each request on an
    /// ``ActivePath`` changes only as the check and the path allow.
    public static let idleness = DecoratorLaw("idleness") { subject in
        try await subject.each(subject.activePaths) { path in
            let request = try path.request(fields: [.contentLanguage: "en"])
            for sent in try await path.provoke(subject, with: request).requests {
                try expectSame(sent, as: request, on: path, by: subject)
            }
        }
        for content in [BodyProbe().body(chunks: 2), BodyProbe().body(chunks: 2, knowingLength: true), "text", .empty] {
            let fields: HTTPFields = [.accept: "text/plain", .contentLanguage: "en"]
            let request = try Request.lawful(content.isEmpty ? .get : .post, fields: fields, body: content)
            let answer = Response(
                head: HTTPResponse(
                    status: .init(code: 200, reasonPhrase: "Fine"), headerFields: [.contentType: "text/plain"]),
                body: BodyProbe().body(chunks: 3, knowingLength: content.length != nil).typed(as: "text/plain"))
            let received = Monitor(Data())
            let probe = Probe { request, _ in
                let data = try await request.body.collectAll().data
                received.update { $0 = data }
                return answer
            }
            let response = try await subject.connection(over: probe).send(request)
            try expect(probe.requests.count, is: 1, "sendings")
            guard let sent = probe.requests.first else { return }
            try expectSame(sent, as: request, on: .ordinary, by: subject)
            if !subject.mayChange(.requestContent, on: .ordinary) {
                try expect(
                    content.bytes.map { $0 == received.state } ?? BytePattern.matches(received.state), "the content")
            }
            try expect(response.status, is: answer.status, "status")
            try expect(response.status.reasonPhrase, is: answer.status.reasonPhrase, "reason phrase")
            try expectSame(Array(response.head.headerFields), as: Array(answer.head.headerFields))
            try expect(response.metadata.attempts, is: 1, "attempts")
            let data = try await response.body.collectAll().data
            if !subject.mayChange(.responseContent, on: .ordinary) {
                try expectSame(response.body, as: answer.body)
                try expect(BytePattern.matches(data), "the response's content")
            }
            // Gives a task that continues after the call the time to send: real time, since yields alone may be over
            // before another thread has run.
            try await Task.sleep(for: .milliseconds(2))
            try expect(probe.requests.count, is: 1, "sendings")
        }
    }

    private static func expectSame(
        _ sent: Request, as request: Request, on path: ActivePath, by subject: DecoratorSubject
    ) throws(ConformanceFailure) {
        let advice = "declared in check(changing:)"
        if !subject.mayChange(.method, on: path) {
            try expect(sent.head.method, is: request.head.method, "method, or a change \(advice),")
        }
        if !subject.mayChange(.target, on: path) {
            let parts = [sent, request].map { [$0.head.scheme, $0.head.authority, $0.head.path] }
            try expect(parts[0], is: parts[1], "target, or a change \(advice),")
        }
        let added = subject.addedFields(on: path)
        try expectSame(
            sent.head.headerFields.filter { !added.contains($0.name) },
            as: request.head.headerFields.filter { !added.contains($0.name) }, ", or fields for check(adding:)")
        if !subject.mayChange(.requestContent, on: path) { try expectSame(sent.body, as: request.body) }
    }

    private static func expectSame(_ body: Body, as original: Body) throws(ConformanceFailure) {
        try expect(body.length, is: original.length, "length")
        try expect(body.replay, is: original.replay, "replay rule")
        try expect(body.mediaType, is: original.mediaType, "media type")
    }

    private static func expectSame(
        _ fields: [HTTPField], as originals: [HTTPField], _ advice: String = ""
    ) throws(ConformanceFailure) {
        let (lines, expected) = (Self.lines(fields), Self.lines(originals))
        let added = lines.filter { !expected.contains($0) }
        let missing = expected.filter { !lines.contains($0) }
        try expect(fields == originals, "the fields\(advice), added: \(added), missing: \(missing)")
    }

    /// Demands that a request which may have had an effect is not sent again.
    ///
    /// A `POST` without an `Idempotency-Key` may have been carried out although no answer came, or a gateway answered in
    /// the server's place (RFC 9110, section 9.2.2). A server that has refused it, as with a `429`, has not.
    public static let effects = DecoratorLaw("effects") { subject in
        try await subject.each(uncertainPaths) { path in
            for method in [HTTPRequest.Method.post, .patch] {
                for body in [Body("content"), .empty] {
                    try await checkEffect(of: path.request(method, body: body), in: subject, on: path)
                }
            }
            let once = BodyProbe().body(chunks: 2, replay: .once)
            try await checkEffect(of: path.request(.put, body: once), in: subject, on: path)
        }
        try await subject.each(subject.activePaths.filter { $0.calls == 1 }) { path in
            for number in 1...4 {
                var request = try path.request(.post, body: "content")
                if request.head.method != .patch { request.head.method = .post }
                try await checkEffect(of: request, in: subject, on: path, losing: number)
            }
        }
    }

    /// Sends a request that must not be sent again once its answer is uncertain.
    ///
    /// The answer to one sending, by its number, is lost where the path itself is certain.
    private static func checkEffect(
        of request: Request, in subject: DecoratorSubject, on path: ActivePath, losing lost: Int? = nil
    ) async throws {
        let again = Monitor(0)
        let isUncertain = Monitor(false)
        _ = try await path.provoke(subject, with: request) { sent, number, outcome in
            let isSafe = sent.head.hasIdempotencyKey && sent.body.replay > .once
            guard sent.head.method == request.head.method, !isSafe else { return try outcome.get() }
            if isUncertain.state { _ = again.increment() }
            _ = try? await sent.body.collectAll()
            isUncertain.update { $0 = $0 || number >= lost ?? 1 }
            guard let lost, number >= lost else { return try outcome.get() }
            throw TransportError(.connectionLost, at: .head)
        }
        let event = lost.map { " after its answer \($0) was lost" } ?? ""
        try expect(again.state, is: 0, "further sendings of \(request.head.method)\(event)")
    }

    /// Answers that leave open whether the server has carried out the request.
    private static let uncertainPaths =
        [TransportError.Code.connectionLost, .timedOut, .malformedResponse].map { TransportError($0, at: .head).path }
        + [500, 502, 503, 504].map { code in
            ActivePath(ofLaws: "a \(code)") { number, _ in number == 1 ? .challenge(code) : .ok }
        }
}

extension HTTPRequest {
    /// Whether a server can recognize a request that it has carried out already.
    var hasIdempotencyKey: Bool {
        headerFields.contains { $0.name.canonicalName == "idempotency-key" && !$0.value.isEmpty }
    }
}

private enum VendorOptionKey: RequestOptionKey {
    static let defaultValue = 0
}
