public import Decorum
import Foundation
import HTTPTypes

/// A recording that was played through several stacks, compared request by request.
///
/// ```swift
/// let comparison = try await StackComparison(
///     playing: "Tests/Cassettes/feed.json",
///     through: [
///         "plain": { base, clock in base.retrying(clock: clock) },
///         "cached": { base, clock in base.retrying(clock: clock).caching(in: MemoryResponseStore(), clock: clock) },
///     ])
/// print(comparison)
/// ```
///
/// Each stack gets the requests one after the other, and answers them from the recording in place of a transport. The
/// recording is played as often as a stack asks for it. As a server would, it answers a request for a validation with 304
/// if the recorded response has the entity tag or the date of the request (RFC 9110, section 13). Its time moves with the
/// recorded pauses between chunks and the waits of the stack, and not with the work of the processor. Two runs give the
/// same numbers, unless a layer depends on chance, as the waits of retries do.
public struct StackComparison: Sendable, Hashable {
    /// Builds a stack over a connection that plays the recording, with the clock of the comparison.
    public typealias Stack = @Sendable (_ base: any Connection, _ clock: any DatedClock) -> any Connection

    /// The course of one request through one stack.
    public struct Course: Sendable, Hashable {
        /// The status of the response, or the kind of the error.
        public let outcome: String
        /// The source of the response; nil for an error.
        public let source: ResponseMetadata.Source?
        /// The number of requests that left the stack.
        public let sent: Int
        /// The bytes of content that left the stack.
        public let bytesSent: Int
        /// The bytes of content that came from the recording.
        public let bytesReceived: Int
        /// The time of the waits until the content was read to its end.
        public let time: Duration
        /// The digest of the content that the caller has read.
        let content: String

        /// Whether the stack answered by itself.
        public var isHit: Bool { sent == 0 && source != nil }
    }

    /// One request, and its course through each stack.
    public struct Row: Sendable, Hashable {
        /// The method and the URL, redacted.
        public let request: String
        /// The course through each stack, in the order of the stacks.
        public let courses: [Course]

        /// Whether all stacks gave the caller the same: the status and the content, or the kind of the error.
        public var isSame: Bool {
            courses.allSatisfy { $0.outcome == courses[0].outcome && $0.content == courses[0].content }
        }
    }

    /// The names of the stacks.
    public let stacks: [String]
    /// The requests, in their order.
    public let rows: [Row]

    /// Plays a recording through stacks.
    ///
    /// - Parameters:
    ///   - path: The path of the cassette, in any format that ``ImportedCassette`` knows.
    ///   - rules: The rules by which requests match. Interactions are played repeatedly, and with their pauses.
    ///   - requests: The requests to send; nil for those of the recording. A recording that was made below retries or
    ///     redirections holds the requests of these layers too.
    ///   - stacks: The stacks, by their names. The clock that they get moves at once to the end of each wait. So leave
    ///     out `limitingTime`: if a layer waits while the request runs, as a layer that shares requests does, the limit
    ///     would end at once.
    /// - Throws: ``CassetteError`` if the recording cannot be read; `InvalidRequestError` if a recorded request cannot be
    ///   sent; `CancellationError`. The error of a request becomes its outcome.
    public init(
        playing path: String, rules: CassetteRules = CassetteRules(), requests: [Request]? = nil,
        through stacks: KeyValuePairs<String, Stack>
    ) async throws {
        var rules = rules
        (rules.repeats, rules.order, rules.timing) = (.last, .any, .recorded)
        let recording = try Cassette(
            at: path, mode: .replay, rules: rules, clock: SystemClock(), suite: nil, isNamed: false,
            test: nil, isReported: false)
        let requests = try requests ?? recording.interactions().map { try Request($0, of: path) }
        let scanner = SecretScanner(rules)
        let texts = requests.map { request in
            let request = recording.redactor.matchable(
                RecordedRequest(request.head, secretFields: request.options.secretFields))
            return scanner.masked("\(request.method) \(request.url)")
        }
        var courses = Array(repeating: [Course](), count: requests.count)
        for (_, stack) in stacks {
            let clock = ImpatientClock(date: recording.recordedAt ?? SystemClock().date)
            let cassette = try Cassette(
                at: path, mode: .replay, rules: rules, clock: clock, suite: nil, isNamed: false,
                test: nil, isReported: false)
            let player = ComparedPlayer(base: CassetteConnection(cassette))
            let connection = stack(player, clock)
            for (index, request) in requests.enumerated() {
                courses[index].append(
                    try await player.course(of: request, through: connection, clock: clock, upTo: rules.bodyLimit))
            }
        }
        self.stacks = stacks.map(\.key)
        rows = zip(texts, courses).map(Row.init)
    }
}

extension Request {
    /// A recorded request as it was sent, except for secrets.
    fileprivate init(_ interaction: Interaction, of path: String) throws {
        let recorded = interaction.request
        guard let method = HTTPRequest.Method(recorded.method) else {
            throw CassetteError(file: path, reason: "the method of a request is not valid")
        }
        try self.init(method, recorded.url, fields: recorded.fields, body: Body(recorded.body.bytes))
    }
}

extension StackComparison: CustomStringConvertible {
    /// A table: for each request a line for each stack, and the sums.
    public var description: String {
        var table = ComparisonTable(stacks: stacks)
        for (index, row) in rows.enumerated() {
            table.add("\(index + 1)  \(row.request)\(row.isSame ? "" : "  (the answers differ)")")
            for (name, course) in zip(stacks, row.courses) { table.add(name, course) }
        }
        table.add("all requests")
        for (index, name) in stacks.enumerated() { table.add(name, sumOf: rows.map { $0.courses[index] }) }
        return table.text
    }
}
