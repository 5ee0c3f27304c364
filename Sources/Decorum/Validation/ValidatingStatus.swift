import Foundation
public import HTTPTypes

extension Connection {
    /// Throws for each response whose status is not accepted.
    ///
    /// ```swift
    /// let connection = SystemConnection().validatingStatus()
    /// do {
    ///     var request = try Request.get("https://api.example.com/items")
    ///     request.options.routeName = "items"
    ///     let response = try await connection.send(request)
    ///     return try await response.decode([Item].self, upTo: 1 << 20)
    /// } catch let error as StatusError where error.status == .serviceUnavailable {
    ///     print(error)  // GET https://api.example.com/items (route “items”) was answered with the status 503.
    ///     print(try await error.response.body.text(upTo: 1 << 16))
    ///     return []
    /// }
    /// ```
    ///
    /// No other layer turns a status into an error. The error holds the whole response, whose body is still being
    /// received: read it, or drop the error. If the content is JSON of at most 64 KiB, the error waits for its first chunk
    /// for up to a second, so that ``StatusError/problem`` has the words of the server.
    ///
    /// Place it outermost: layers such as `retrying` and `followingRedirects` decide by the status of a response, which
    /// they do not get if this layer throws further in.
    ///
    /// - Parameters:
    ///   - accepted: The statuses that do not cause an error; ``RequestOptions/acceptedStatuses`` replaces them for a request.
    ///   - clock: The clock that bounds the wait for the words of the server, and that dates its `Retry-After`.
    /// - Returns: A connection that answers with accepted statuses only.
    public func validatingStatus(
        _ accepted: AcceptedStatuses = .successful, clock: any DatedClock = SystemClock()
    ) -> some Connection {
        StatusValidatingConnection(base: self, accepted: accepted, clock: clock)
    }
}

/// The statuses that a caller accepts without an error.
public struct AcceptedStatuses: Sendable {
    // A reference, so that the rule fits into the list of options without a copy on the heap for each request.
    fileprivate let rule: Rule

    fileprivate final class Rule: Sendable {
        let name: String
        // Most rules need only the code, and a status is made from the head each time.
        let accepts: @Sendable (_ code: Int, _ status: () -> HTTPResponse.Status) -> Bool

        init(_ name: String, _ accepts: @escaping @Sendable (Int, () -> HTTPResponse.Status) -> Bool) {
            self.name = name
            self.accepts = accepts
        }
    }

    /// Creates a custom rule.
    ///
    /// - Parameters:
    ///   - name: The name of the rule in ``Connection/layers``.
    ///   - accepts: Returns whether a status is accepted.
    public init(_ name: String = "custom", where accepts: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
        rule = Rule(name) { _, status in accepts(status()) }
    }

    private init(_ name: String, whereCode accepts: @escaping @Sendable (Int) -> Bool) {
        rule = Rule(name) { code, _ in accepts(code) }
    }

    /// Accepts the statuses of success: 2xx, and 304.
    ///
    /// A caller gets a 304 only after asking for it, with a precondition in the request or by the settings of
    /// `revalidating(in:)`. A redirection that was not followed is not accepted.
    public static let successful = AcceptedStatuses("2xx, 304", whereCode: { (200...299).contains($0) || $0 == 304 })

    /// Accepts each status, as for a caller who decides by the response.
    public static let all = AcceptedStatuses("all", whereCode: { _ in true })

    /// Accepts the codes of a range or another collection.
    ///
    /// - Parameter codes: The codes, as in `200..<400` or `[200, 404]`.
    /// - Returns: A rule that accepts only these codes.
    public static func codes(_ codes: some Collection<Int> & Sendable) -> AcceptedStatuses {
        AcceptedStatuses(String(describing: codes), whereCode: { codes.contains($0) })
    }

    /// Returns whether a status is accepted.
    ///
    /// - Parameter status: The status of a response.
    /// - Returns: Whether it is accepted.
    public func contains(_ status: HTTPResponse.Status) -> Bool {
        rule.accepts(status.code) { status }
    }
}

extension AcceptedStatuses: CustomStringConvertible {
    /// The name of the rule.
    public var description: String { rule.name }
}

extension RequestOptions {
    /// The statuses of the response to the request that are no error of `validatingStatus`; nil for the rule of the layer.
    ///
    /// ```swift
    /// var request = try Request.get("downloads/latest")
    /// request.options.redirectionPolicy = .never
    /// request.options.acceptedStatuses = .codes([302])
    /// let location = try await connection.send(request).head.headerFields[.location]
    /// ```
    public var acceptedStatuses: AcceptedStatuses? {
        get { self[AcceptedStatusesKey.self] }
        set { self[AcceptedStatusesKey.self] = newValue }
    }
}

private enum AcceptedStatusesKey: CallOptionKey { static let defaultValue: AcceptedStatuses? = nil }

struct StatusValidatingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let accepted: AcceptedStatuses
    let clock: any DatedClock

    var layer: Layer {
        Layer(
            name: "validatingStatus", role: .validation, settings: [Layer.Setting("accepted", accepted)],
            facts: Layer.facts(of: clock), time: .init(reading: .atMost(Body.discardTime)),
            memory: .init(bytes: .atMost(ProblemText.limit)))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let accepted = request.options.acceptedStatuses ?? accepted
        // Only the parts that the error needs are kept: with a copy of the whole head, layers further in would have to
        // copy it to change it.
        let method = request.head.method
        let scheme = request.head.scheme
        let authority = request.head.authority
        let path = request.head.path
        let (values, routeName) = (request.options.values, request.options.routeName)
        let response = try await base.send(request)
        guard !accepted.rule.accepts(response.code, { response.status }) else {
            return response.code < 400 ? response : dated(response)
        }
        let asked = HTTPRequest(method: method, scheme: scheme, authority: authority, path: path)
        throw try await error(for: response, to: asked, RequestOptions(values, routeName: routeName))
    }

    /// An accepted failure with the date of its arrival; not inlined, since the metadata of no other response changes.
    @inline(never) private func dated(_ response: consuming Response) -> Response {
        response.metadata.arrivalDate = clock.date
        return response
    }

    /// The error for a response, with the words of the server if they arrive soon.
    private func error(
        for response: consuming Response, to asked: HTTPRequest, _ options: RequestOptions
    ) async throws -> StatusError {
        let date = clock.date
        let problem = try await response.readProblem(until: options.deadline, on: clock)
        return StatusError(
            method: asked.method, origin: response.answeringOrigin ?? (try? Origin(asked)),
            routeName: options.routeName, response: response, path: asked.path, problem: problem, at: date)
    }
}

extension Response {
    fileprivate var answeringOrigin: Origin? {
        metadata.url.flatMap { try? Origin($0) }
    }

    /// Finds the problem in the first chunk of a body, and leaves the response a body with all bytes; nil if the body is in
    /// memory, or was not read.
    fileprivate mutating func readProblem(
        until deadline: ContinuousClock.Instant?, on clock: any DatedClock
    ) async throws -> ProblemText? {
        guard body.bytes == nil, (1...Int64(ProblemText.limit)).contains(body.length ?? 1),
            ContentKind(mediaType: head.headerFields[.contentType]) == .json
        else { return nil }
        guard body.replay == .once else {
            // A stored body is read anew, and a failure to read it is left to the reader.
            var reader = try? await body.open()
            return (try? await reader?.next()).flatMap { $0 }.map(ProblemText.find)
        }
        let (chunk, whole) = try await body.readingAhead(within: Body.discardTime, until: deadline, on: clock)
        body = whole
        return chunk.map(ProblemText.find)
    }
}
