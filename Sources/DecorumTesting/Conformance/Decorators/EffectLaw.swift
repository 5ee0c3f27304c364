import Decorum
import HTTPTypes

extension DecoratorLaw {
    /// Demands that a request which may have had an effect is not sent again.
    ///
    /// A `POST` without an `Idempotency-Key` may have been carried out although no answer came, or a gateway answered in
    /// the server's place (RFC 9110, section 9.2.2). Content that can be read only once is no longer available after
    /// the first sending. A server that has refused a request, as with a `401` or a `429`, has not carried it out.
    public static let effects = DecoratorLaw(
        "effects", "A request that may have had an effect, or whose content is gone, is not sent again."
    ) { subject in
        for path in uncertainPaths {
            for method in [HTTPRequest.Method.post, .patch] {
                for body in [Body("content"), .empty] {
                    try await check(try path.request(method, body: body), in: subject, on: path)
                }
            }
            try await check(
                path.request(.put, body: BodyProbe().body(chunks: 2, replay: .once)), in: subject, on: path)
        }
        for path in subject.activePaths where path.calls == 1 {
            for number in 1...4 {
                var request = try path.request(.post, body: "content")
                if request.head.method != .patch { request.head.method = .post }
                try await check(request, in: subject, on: path, losing: number)
            }
        }
    }

    /// Sends a request that must not be sent again once its answer is uncertain.
    ///
    /// The answer to one sending, by its number, is lost where the path itself is certain.
    private static func check(
        _ request: Request, in subject: DecoratorSubject, on path: ActivePath, losing lost: Int? = nil
    ) async throws {
        let again = Monitor(0)
        let isUncertain = Monitor(false)
        _ = try await path.provoke(subject, with: request) { sent, number, outcome in
            guard !subject.isOwnRequest(sent.head), sent.head.method == request.head.method,
                !(sent.head.hasIdempotencyKey && sent.body.replay > .once)
            else {
                return try outcome.get()
            }
            if isUncertain.state { _ = again.increment() }
            _ = try? await sent.body.collectAll()
            isUncertain.update { $0 = $0 || number >= lost ?? 1 }
            guard let lost else { return try outcome.get() }
            guard number < lost else { throw TransportError(.connectionLost, at: .head) }
            return try outcome.get()
        }
        try require(
            again.state == 0,
            "With \(path)\(lost.map { " and the answer to sending \($0) lost" } ?? ""), a \(request.head.method) was sent "
                + "again.")
    }

    /// Answers that leave open whether the server has carried out the request.
    private static let uncertainPaths =
        [
            TransportError(.connectionLost, at: .head), TransportError(.timedOut, at: .head),
            TransportError(.malformedResponse, at: .head),
        ].map(\.path)
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
