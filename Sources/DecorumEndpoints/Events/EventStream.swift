public import Decorum
import Foundation
import HTTPTypes

extension Connection {
    /// Requests a stream of server-sent events, which is connected again when it breaks (WHATWG HTML, section 9.2).
    ///
    /// ```swift
    /// for try await event in connection.events(of: try .get("https://api.example.com/news")) {
    ///     print(event.type, event.data)
    /// }
    /// ```
    ///
    /// The request is sent when the first event is asked for, with `Accept: text/event-stream` and `Cache-Control:
    /// no-store` unless the request has such fields. No more is read than the reader takes, so a slow reader holds the
    /// server back. The stream ends with a 204, and with its reader: a cancelled task ends it at once, and so does leaving
    /// the loop. Any other status than 200 is a `StatusError`; an endpoint in place of the request makes it a
    /// ``RefusalError``, with the API's own error.
    ///
    /// A connection without a byte for the time of `RequestOptions.idleTimeout`, by default a minute, counts as broken: a
    /// server keeps a quiet stream alive with comments. A deadline of the body ends each connection, not the stream.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - reconnection: The rules by which it is sent again.
    ///   - lastEventID: The identifier after which the stream begins, as of ``ServerSentEvent/id``; empty for none. An
    ///     identifier that no field may have is not sent.
    ///   - limit: The largest number of bytes of an event, and of a line.
    ///   - clock: The clock of the waits.
    ///   - generator: The chance that makes waits longer.
    /// - Returns: The events. Each loop over them is a stream of its own.
    public func events(
        of request: Request, reconnecting reconnection: EventReconnection = .standard, after lastEventID: String = "",
        upTo limit: Int = 1 << 20, clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) -> EventStream {
        var request = request
        let fields = request.head.headerFields
        if fields[.accept] == nil { request.head.headerFields[.accept] = "text/event-stream" }
        if fields[.cacheControl] == nil { request.head.headerFields[.cacheControl] = "no-store" }
        return EventStream(
            connection: self, request: request, reconnection: reconnection, lastEventID: lastEventID, limit: limit,
            clock: clock, generator: generator,
            refusal: { [request] response, _ in
                StatusError(
                    method: request.head.method, origin: response.metadata.url.flatMap { try? Origin($0) },
                    routeName: request.options.routeName, response: response)
            })
    }

    /// Requests a stream of server-sent events, as the same method for a request does.
    ///
    /// ```swift
    /// for try await note in try api.events(of: .changes).values(of: Note.self) { show(note.title) }
    /// ```
    ///
    /// Any other status than 200 is a ``RefusalError``, so a stack with `validatingStatus` and one without it are alike.
    ///
    /// Of the endpoint, the request and the API count; one that makes no request is an `InvalidRequestError`.
    public func events<Value>(
        of endpoint: Endpoint<Value>, reconnecting reconnection: EventReconnection = .standard,
        after lastEventID: String = "", upTo limit: Int = 1 << 20, clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) throws -> EventStream {
        var endpoint = endpoint
        if endpoint.fields[.accept] == nil { endpoint.fields[.accept] = "text/event-stream" }
        var request = try endpoint.request(over: self)
        try endpoint.checkCompletion(of: request, by: self)
        request.options.acceptedStatuses = .all
        var stream = events(
            of: request, reconnecting: reconnection, after: lastEventID, upTo: limit, clock: clock,
            generator: generator)
        stream.api = endpoint.api
        stream.refusal = { [endpoint] in try await endpoint.refusal($0, $1) }
        return stream
    }
}

/// The events of a request, over as many connections as it takes.
///
/// It throws `CancellationError`; for another status than 200 and 204, `StatusError`, or ``RefusalError`` in the stream of an
/// endpoint; ``EventStreamError``; the error of the first connection; and an error that would occur again.
public struct EventStream: AsyncSequence, Sendable {
    fileprivate let connection: any Connection
    fileprivate let request: Request
    fileprivate let reconnection: EventReconnection
    fileprivate let lastEventID: String
    fileprivate let limit: Int
    fileprivate let clock: any DatedClock
    fileprivate let generator: any RandomGenerator
    /// The API of the endpoint; nil for that of the connection.
    fileprivate var api: API?
    /// Makes the error of a response with another status.
    fileprivate var refusal: @Sendable (Response, API) async throws -> any Error

    /// Makes an iterator, which sends the request for its first event.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    /// Reads the events of one stream.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum State {
            case waiting(Duration?)
            case open(any BodyReader)
            case ended
        }

        private let stream: EventStream
        private var state = State.waiting(nil)
        private var parser: EventStreamParser
        private var hasConnected = false
        /// The number of connections in a row that had no event.
        private var failures = 0
        /// The decoder of the API that has answered.
        private var decoder = JSONDecoder()

        fileprivate init(_ stream: EventStream) {
            self.stream = stream
            parser = EventStreamParser(lastEventID: stream.lastEventID, limit: stream.limit)
        }

        /// Reads the next event.
        public mutating func next() async throws -> ServerSentEvent? {
            try await next(isolation: #isolation)
        }

        /// Reads the next event on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
            do {
                return try await step()
            } catch {
                state = .ended
                throw error
            }
        }

        private mutating func step() async throws -> ServerSentEvent? {
            while true {
                try Task.checkCancellation()
                switch state {
                case .ended: return nil
                case .waiting(let wait):
                    if let wait { try await stream.clock.sleep(for: wait) }
                    try await connect()
                case .open(let reader):
                    if var event = try parser.next() {
                        failures = 0
                        event.decoder = decoder
                        return event
                    }
                    try await read(reader)
                }
            }
        }

        private mutating func connect() async throws {
            failures += 1
            do {
                let response = try await stream.connection.send(stream.request(after: parser.lastEventID))
                let api = stream.api ?? (response.metadata.api ?? .standard).api
                decoder = api.settings.decoder
                guard let body = try await stream.body(of: response, from: api) else {
                    state = .ended
                    return
                }
                hasConnected = true
                // A part of an event that the last connection has left does not count, but its identifier and time do.
                parser = EventStreamParser(resuming: parser)
                state = .open(try await body.open())
            } catch {
                // The first connection fails as any request does.
                guard hasConnected else { throw error }
                try recover(from: error)
            }
        }

        private mutating func read(_ reader: any BodyReader) async throws {
            // The state must not hold the reader too: leaving it ends the transfer.
            state = .ended
            var reader = reader
            do {
                guard let chunk = try await reader.next() else {
                    try recover(from: nil)
                    return
                }
                parser.append(chunk)
                state = .open(reader)
            } catch {
                try recover(from: error)
            }
        }

        private mutating func recover(from error: (any Error)?) throws {
            if let error = error as? CancellationError { throw error }
            let decision = stream.reconnection.decision(
                after: error, failures: failures, asked: parser.retry,
                isRepeatable: stream.reconnection.repeats(stream.request), chance: stream.generator.uniform())
            switch decision {
            case .end: state = .ended
            case .fail: throw error ?? EventStreamError(brokenTimes: failures)
            case .connect(let wait): state = .waiting(wait)
            }
        }
    }
}

@available(*, unavailable)
extension EventStream.AsyncIterator: Sendable {}

extension EventStream {
    /// The request for the events after an identifier.
    fileprivate func request(after id: String) -> Request {
        var request = request
        if !id.isEmpty, HTTPField.isValidValue(id) { request.head.headerFields[.lastEventID] = id }
        return request
    }

    /// The body of a stream; nil if the server has ended it with a 204.
    fileprivate func body(of response: Response, from api: API) async throws -> Body? {
        if response.status == .noContent { return nil }
        guard response.status == .ok else { throw try await refusal(response, api) }
        guard response.head.headerFields[.contentType]?.mediaTypeEssence == "text/event-stream" else {
            throw EventStreamError(mediaTypeOf: response)
        }
        return response.body
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

/// The rules by which a stream of events that has broken is connected again.
///
/// If the first connection fails, the stream fails at once, since `retrying` repeats such requests. If a stream has
/// begun, and then ends or breaks, it is connected again by a request with `Last-Event-ID`. So the server goes on after
/// the last complete event.
public struct EventReconnection: Sendable, Hashable {
    /// The time before the first attempt, unless the server has asked for another time with `retry`: 3 s.
    ///
    /// Each connection that ends without an event doubles the wait, up to a minute. A longer time that the server asks for
    /// holds, up to ten minutes. Chance adds up to a half, so that clients do not connect again at the same moment, and no wait
    /// is shorter than a tenth of a second.
    public var wait: Duration = .seconds(3)
    /// The number of connections in a row that may end without an event before the stream fails; nil for any number, as
    /// the standard has it.
    public var attempts: Int?
    /// Whether requests with other methods than `GET` are sent again too.
    ///
    /// An answer of a language model to a `POST` is such a stream: each request would make another answer.
    public var repeatsUnsafeMethods = false
    private let isOn: Bool

    /// Creates the rules of the standard: any number of attempts, for `GET` alone.
    public init() {
        isOn = true
    }

    private init(isOn: Bool) {
        self.isOn = isOn
    }

    /// The rules of the standard: any number of attempts, for `GET` alone.
    public static let standard = EventReconnection()
    /// The stream ends with the first response.
    public static let never = EventReconnection(isOn: false)
}

extension EventReconnection {
    /// The next step after a stream has ended or broken.
    enum Decision: Equatable {
        case end
        case fail
        case connect(after: Duration)
    }

    /// Whether requests like this one are sent again.
    func repeats(_ request: Request) -> Bool {
        isOn && request.body.replay != .once && (request.head.method == .get || repeatsUnsafeMethods)
    }

    /// Decides after a stream has ended or broken.
    ///
    /// `failures` is the number of connections in a row, this one included, that had no event; `chance` is a number from 0 to
    /// 1.
    func decision(
        after error: (any Error)?, failures: Int, asked: Duration?, isRepeatable: Bool, chance: Double
    ) -> Decision {
        guard isRepeatable else { return error == nil ? .end : .fail }
        if let error, !Self.mayPass(error) { return .fail }
        if let attempts, failures > max(0, attempts) { return .fail }
        return .connect(after: wait(failures: failures, asked: asked, chance: chance))
    }

    private static let shortestWait = Duration.milliseconds(100)

    /// The wait: it doubles with each failure after the first, and is never shorter than the server asks for.
    func wait(failures: Int, asked: Duration?, chance: Double) -> Duration {
        // A server may ask for no wait, but one that ends each connection at once is not asked without a pause.
        let first = max(Self.shortestWait, asked.map { min($0, .seconds(600)) } ?? wait).bounded
        let doublings = min(max(0, failures - 1), 30)
        let grown = min(first * (1 << doublings), max(first, .seconds(60))).bounded
        return grown + grown * (chance / 2)
    }

    /// Whether another connection may succeed: the errors that may pass, and each break of a body except faults of its form.
    private static func mayPass(_ error: any Error) -> Bool {
        if let error = error as? TransportError, error.stage == .body {
            return error.code != .undecodableContent && error.code != .closed
        }
        return (error as? any TemporaryError)?.mayPass ?? false
    }
}

/// The answer to a request for events is no stream of events, or one that this app does not accept.
public struct EventStreamError: DescribableError {
    /// The reason, as an open set.
    public struct Reason: Hashable, Sendable {
        let name: String

        private init(_ name: String) { self.name = name }

        /// The media type is not `text/event-stream`.
        public static let mediaType = Reason("mediaType")
        /// An event or a line is longer than the limit.
        public static let limit = Reason("limit")
        /// The stream broke, again and again, before it had an event.
        public static let broken = Reason("broken")
    }

    /// The reason.
    public let reason: Reason
    /// The response, whose body can be read if the reason is its media type; nil if the stream was read.
    public let response: Response?
    /// A sentence that says what is wrong, with the status, the media type and the URL without its query.
    public let description: String

    /// An answer with another media type.
    init(mediaTypeOf response: Response) {
        reason = .mediaType
        self.response = response
        description =
            "The \(response.summary) is no stream of events, which has the media type text/event-stream. Check the URL, "
            + "and whether a proxy or a page for signing in has answered."
    }

    /// An event or a line that is too long.
    init(longerThan limit: Int) {
        reason = .limit
        response = nil
        description =
            "An event or a line of the stream has more than \(limit) bytes. Raise `upTo:` if the server is trusted."
    }

    /// A stream that has ended too often.
    init(brokenTimes count: Int) {
        reason = .broken
        response = nil
        description = "The stream of events has ended \(count) times in a row before it had an event."
    }

    /// The name of the reason.
    public var shortDescription: String { reason.name }
}
