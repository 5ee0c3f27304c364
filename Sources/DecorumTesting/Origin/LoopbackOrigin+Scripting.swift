public import HTTPTypes

/// Scripting.
extension LoopbackOrigin {
    /// Answers every request to a path in the same way.
    ///
    /// A `HEAD` request without a route of its own is answered by that for `GET`, without the content. The route that
    /// was added last wins.
    ///
    /// - Parameters:
    ///   - method: The method; nil for every method.
    ///   - path: The path. With a query it matches that query alone; with `*` at its end, everything that starts so.
    ///   - moment: When the answer is given.
    ///   - answer: The answer.
    public func route(
        _ method: HTTPRequest.Method?, _ path: String, answering moment: AnswerMoment = .afterBody, _ answer: Answer
    ) {
        route(method, path, answering: moment) { _ in answer }
    }

    /// Computes the answers to requests to a path.
    ///
    /// ```swift
    /// origin.route(.post, "/items") { request in
    ///     .init(.created, body: "You sent \(request.bodyLength) bytes.")
    /// }
    /// ```
    ///
    /// A closure that captures the origin keeps it alive until ``stop()``.
    ///
    /// - Parameters:
    ///   - method: The method; nil for every method.
    ///   - path: The path. With a query it matches that query alone; with `*` at its end, everything that starts so.
    ///   - moment: When the closure is called: with the whole request, or with its head alone.
    ///   - answer: Computes the answer; an error that it throws makes a 500.
    public func route(
        _ method: HTTPRequest.Method?, _ path: String, answering moment: AnswerMoment = .afterBody,
        _ answer: @escaping @Sendable (_ request: ReceivedRequest) async throws -> Answer
    ) {
        let entry = AnswerBook.Entry(moment: moment, answer: answer)
        book.add(AnswerBook.Route(method: method, path: path, entry: entry))
    }

    /// Adds answers behind those that are queued; each answers one request, whatever its method and path.
    ///
    /// - Parameters:
    ///   - answers: The answers, in order.
    ///   - moment: When the answers are given.
    public func enqueue(_ answers: Answer..., answering moment: AnswerMoment = .afterBody) {
        book.enqueue(answers.map { answer in AnswerBook.Entry(moment: moment) { _ in answer } })
    }

    /// Adds a computed answer to one request behind those that are queued.
    ///
    /// - Parameters:
    ///   - moment: When the closure is called: with the whole request, or with its head alone.
    ///   - answer: Computes the answer; an error that it throws makes a 500.
    public func enqueue(
        answering moment: AnswerMoment = .afterBody,
        _ answer: @escaping @Sendable (_ request: ReceivedRequest) async throws -> Answer
    ) {
        book.enqueue([AnswerBook.Entry(moment: moment, answer: answer)])
    }

    /// The number of queued answers that no request has taken.
    public var queuedAnswerCount: Int { book.queuedCount }

    /// Closes the connections that are open now, idle or not, as a server does that restarts.
    public func closeConnections() {
        reactor?.submit(.closeAll)
    }
}
