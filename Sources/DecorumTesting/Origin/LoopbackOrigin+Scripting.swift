public import HTTPTypes

/// Answers that a test prepares.
extension LoopbackOrigin {
    /// Answers every request to a path in the same way.
    ///
    /// A `HEAD` request that has no route is answered by the route for `GET`, without the content. The route that was
    /// added last wins.
    ///
    /// - Parameters:
    ///   - method: The method; nil for every method.
    ///   - path: The path. With a query it matches that query alone; with `*` at its end, every path that starts with it.
    ///   - moment: The moment of the answer.
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
    ///   - path: The path. With a query it matches that query alone; with `*` at its end, every path that starts with it.
    ///   - moment: The moment of the call: with the whole request, or with its head alone.
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
    ///   - moment: The moment of the answers.
    public func enqueue(_ answers: Answer..., answering moment: AnswerMoment = .afterBody) {
        book.enqueue(answers.map { answer in AnswerBook.Entry(moment: moment) { _ in answer } })
    }

    /// Adds a computed answer to one request behind those that are queued.
    ///
    /// - Parameters:
    ///   - moment: The moment of the call: with the whole request, or with its head alone.
    ///   - answer: Computes the answer; an error that it throws makes a 500.
    public func enqueue(
        answering moment: AnswerMoment = .afterBody,
        _ answer: @escaping @Sendable (_ request: ReceivedRequest) async throws -> Answer
    ) {
        book.enqueue([AnswerBook.Entry(moment: moment, answer: answer)])
    }

    /// The number of queued answers that no request has taken.
    public var queuedAnswerCount: Int { book.queuedCount }

    /// Closes all open connections, idle or not, as a server that restarts does; one that is accepted later stays open.
    public func closeConnections() {
        if let listener { listener.reactor.submit(.closeAll(listener, upTo: connectionCount)) }
    }
}
