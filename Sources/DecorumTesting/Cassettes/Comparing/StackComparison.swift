public import Decorum
import Foundation
public import HTTPTypes

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
/// same comparison, unless a layer depends on chance, as the waits of retries and new identifiers do.
///
/// The requests that left each stack are in ``Course/requests``. The table names their differences from the requests of the
/// first stack that sent any: other methods and URLs, fields that only one of both sends or sends with another value, and
/// requests that only one of both sends. It shows no value of a field.
public struct StackComparison: Sendable, Hashable {
    /// Builds a stack over a connection that plays the recording, with the clock of the comparison.
    public typealias Stack = @Sendable (_ base: any Connection, _ clock: any DatedClock) -> any Connection

    /// A request as it left a stack, without its content.
    ///
    /// It lacks the fields that a transport adds, such as `Host`, because the recording takes the place of the transport.
    public struct WireRequest: Sendable, Hashable {
        /// The method, in the case in which it is sent.
        public let method: String
        /// The URL, redacted.
        public let url: String
        /// The header fields in their order, repeats included; their values are redacted, so that two secrets are equal.
        public let fields: HTTPFields

        var target: String { "\(method) \(url)" }
    }

    /// The course of one request through one stack.
    public struct Course: Sendable, Hashable {
        /// The status of the response, or the kind of the error.
        public let outcome: String
        /// The source of the response; nil for an error.
        public let source: ResponseMetadata.Source?
        /// The requests that left the stack, in their order.
        public internal(set) var requests: [WireRequest] = []
        /// The bytes of content that left the stack.
        public let bytesSent: Int
        /// The bytes of content that came from the recording.
        public let bytesReceived: Int
        /// The time of the waits until the content was read to its end.
        public let time: Duration
        let content: String

        /// The number of requests that left the stack.
        public var sent: Int { requests.count }
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
    ///   - requests: The requests to send; nil for the recorded ones. A recording that was made below retries or
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
        var played = Array(repeating: [(course: Course, sent: [Request])](), count: requests.count)
        for (_, stack) in stacks {
            let clock = ImpatientClock(date: recording.recordedAt ?? SystemClock().date)
            let cassette = try Cassette(
                at: path, mode: .replay, rules: rules, clock: clock, suite: nil, isNamed: false,
                test: nil, isReported: false)
            let player = ComparedPlayer(base: CassetteConnection(cassette))
            let connection = stack(player, clock)
            for (index, request) in requests.enumerated() {
                played[index].append(
                    try await player.course(of: request, through: connection, clock: clock, upTo: rules.bodyLimit))
            }
        }
        let redaction = WireRedaction(
            of: requests + played.joined().flatMap(\.sent), by: recording.redactor, masking: SecretScanner(rules))
        self.stacks = stacks.map(\.key)
        rows = zip(requests, played).map { request, played in
            let courses = played.map { course, sent in
                var course = course
                course.requests = sent.map(redaction.shown)
                return course
            }
            return Row(request: redaction.shown(request).target, courses: courses)
        }
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
    private static let columns = ["outcome", "from", "sent", "bytes out", "bytes in", "ms"]
    private static let differenceLimit = 8

    /// A table: for each request a line for each stack and the differences of what they sent, and the sums.
    public var description: String {
        var lines = [[""] + Self.columns]
        for (index, row) in rows.enumerated() {
            lines.append(["\(index + 1)  \(row.request)\(row.isSame ? "" : "  (the answers differ)")"])
            for (name, course) in zip(stacks, row.courses) {
                lines.append([name, course.outcome, course.source?.description ?? ""] + Self.numbers(of: [course]))
            }
            lines += differences(in: row).map { ["   \($0)"] }
        }
        lines.append(["all requests"])
        for (index, name) in stacks.enumerated() {
            let courses = rows.map { $0.courses[index] }
            let hits = courses.count(where: \.isHit)
            lines.append([name, "", "\(hits) \(hits == 1 ? "hit" : "hits")"] + Self.numbers(of: courses))
        }
        // A line with one cell stands across all columns.
        let widths = lines[0].indices.map { column in
            lines.filter { $0.count > 1 }.map { $0[column].count }.max() ?? 0
        }
        return lines.map { cells in
            guard cells.count > 1 else { return cells[0] }
            let padded = zip(cells, widths).enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: cell.1 - cell.0.count)
                return column < 3 ? cell.0 + blanks : blanks + cell.0
            }
            return "   " + padded.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    private static func numbers(of courses: [Course]) -> [String] {
        func sum(_ number: (Course) -> Int) -> String { "\(courses.reduce(0) { $0 + number($1) })" }
        let time = courses.reduce(.zero) { $0 + $1.time }
        return [sum(\.sent), sum(\.bytesSent), sum(\.bytesReceived), "\(Int64(time / .milliseconds(1)))"]
    }

    /// The differences to the first stack that has sent anything; the number in its line tells of one that has sent nothing.
    private func differences(in row: Row) -> [String] {
        let senders = zip(stacks, row.courses).filter { !$1.requests.isEmpty }
        guard let (name, first) = senders.first else { return [] }
        return senders.dropFirst().flatMap { other, course in
            let lines = Self.differences(name, first.requests, other, course.requests)
            return lines.prefix(Self.differenceLimit)
                + (lines.count > Self.differenceLimit ? ["and other differences"] : [])
        }
    }

    /// The differences between the requests of two stacks, each once, without values of fields.
    private static func differences(
        _ name: String, _ requests: [WireRequest], _ otherName: String, _ others: [WireRequest]
    ) -> [String] {
        var (left, leftOthers) = (requests, others)
        var lines: [String] = []
        // A layer may send a request of its own before that of the caller, so the order alone does not pair them.
        for areAlike in [{ $0 == $1 }, { $0.target == $1.target }, { _, _ in true }]
            as [(WireRequest, WireRequest) -> Bool]
        {
            left.removeAll { request in
                guard let index = leftOthers.firstIndex(where: { areAlike(request, $0) }) else { return false }
                lines += request.differences(to: leftOthers.remove(at: index), name, otherName)
                return true
            }
        }
        func further(_ requests: [WireRequest], of name: String, than other: String) -> [String] {
            requests.map { request in
                let names = request.names { _ in true }
                let fields = names.isEmpty ? "" : " with \(names.joined(separator: ", "))"
                return "\(name) also sends \(request.target)\(fields), \(other) does not"
            }
        }
        lines += further(left, of: name, than: otherName) + further(leftOthers, of: otherName, than: name)
        var known: Set<String> = []
        return lines.filter { known.insert($0).inserted }
    }
}

extension StackComparison.WireRequest {
    fileprivate func names(where isIncluded: (HTTPField.Name) -> Bool) -> [String] {
        Set(fields.map(\.name)).filter(isIncluded).sorted { $0.canonicalName < $1.canonicalName }.map(\.rawName)
    }

    fileprivate func differences(to other: Self, _ name: String, _ otherName: String) -> [String] {
        let added = other.names { !fields.contains($0) }
        let lost = names { !other.fields.contains($0) }
        let changed = other.names { fields.contains($0) && fields[values: $0] != other.fields[values: $0] }
        func list(_ names: [String]) -> String { names.joined(separator: ", ") }
        return [
            target == other.target ? nil : "\(otherName) sends \(other.target), \(name) sends \(target)",
            added.isEmpty ? nil : "\(otherName) sends \(list(added)), \(name) does not",
            lost.isEmpty ? nil : "\(name) sends \(list(lost)), \(otherName) does not",
            changed.isEmpty ? nil : "\(otherName) sends another value of \(list(changed)) than \(name)",
        ].compactMap(\.self)
    }
}

/// Plays a recording below a stack that is compared, and notes what passes.
private struct ComparedPlayer: Connection {
    private struct Counts {
        var sent: [Request] = []
        var bytesSent = 0
        var bytesReceived = 0
    }

    let base: CassetteConnection
    private let meter = Monitor(Counts())

    var layers: [Layer] { base.layers }

    func send(_ request: consuming Request) async throws -> Response {
        let meter = meter
        var sent = copy request
        sent.body = .empty
        meter.update { [sent] in $0.sent.append(sent) }
        request.body = request.body.observed { event in
            if case .chunk(let data) = event { meter.update { $0.bytesSent += data.count } }
        }
        let asked = request.head
        var response = try await base.send(request)
        if response.confirms(asked) {
            response.head = HTTPResponse(
                status: .notModified,
                headerFields: response.head.headerFields.filter { Self.confirmingFields.contains($0.name) })
            response.body = .empty
        }
        response.body = response.body.observed { event in
            if case .chunk(let data) = event { meter.update { $0.bytesReceived += data.count } }
        }
        return response
    }

    /// The fields of a response that confirms a stored one (RFC 9110, section 15.4.5).
    private static let confirmingFields: Set<HTTPField.Name> = [
        .cacheControl, .contentLocation, .date, .eTag, .expires, .lastModified, .vary,
    ]

    /// Sends a request through a stack over this connection, and reads the answer to its end.
    ///
    /// The course gets its requests when the secrets of all stacks are known.
    func course(
        of request: Request, through stack: any Connection, clock: ImpatientClock, upTo limit: Int
    ) async throws -> (course: StackComparison.Course, sent: [Request]) {
        meter.update { $0 = Counts() }
        let start = clock.now
        var outcome: String
        var source: ResponseMetadata.Source?
        var content = ""
        do {
            let response = try await stack.send(request)
            outcome = "\(response.status.code)"
            source = response.metadata.source ?? .network
            content = CassetteFiles.checksum(try await response.body.data(upTo: limit))
        } catch let error as CancellationError where Task.isCancelled {
            throw error
        } catch {
            outcome = Self.kind(of: error)
            source = nil
        }
        let counts = meter.state
        let course = StackComparison.Course(
            outcome: outcome, source: source, bytesSent: counts.bytesSent, bytesReceived: counts.bytesReceived,
            time: clock.now - start, content: content)
        return (course, counts.sent)
    }

    private static func kind(of error: any Error) -> String {
        switch error {
        case let error as TransportError: error.code.description
        case let error as StatusError: "StatusError \(error.response.status.code)"
        case is CassetteMissError: "no recording"
        default: "\(type(of: error))"
        }
    }
}

extension Response {
    /// Whether a server would answer the request with 304, because the client has the current representation (RFC 9110,
    /// section 13.1).
    fileprivate func confirms(_ request: HTTPRequest) -> Bool {
        guard status == .ok, request.method == .get || request.method == .head else { return false }
        if let tags = request.headerFields[.ifNoneMatch] {
            guard let tag = head.headerFields[.eTag] else { return false }
            return tags.split(separator: ",").contains { Self.opaqueTag($0[...]) == Self.opaqueTag(tag[...]) }
        }
        guard let date = request.headerFields[.ifModifiedSince] else { return false }
        return date == head.headerFields[.lastModified]
    }

    /// The part of an entity tag that a weak comparison compares (RFC 9110, section 8.8.3.2).
    private static func opaqueTag(_ tag: Substring) -> Substring {
        let tag = tag.trimmingCharacters(in: .whitespaces)
        return tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
    }
}

/// Removes the secrets from the requests of a comparison.
///
/// One stack may mark a secret that another sends without a mark. So it knows the secrets of all stacks before it shows a
/// request.
private struct WireRedaction {
    private let redactor: CassetteRedactor
    private let scanner: SecretScanner
    private let secretFields: Set<HTTPField.Name>
    private let secretQueryItems: Set<String>

    init(of requests: [Request], by redactor: CassetteRedactor, masking scanner: SecretScanner) {
        self.redactor = redactor
        self.scanner = scanner
        secretFields = requests.reduce(into: []) { $0.formUnion($1.options.secretFields) }
        secretQueryItems = requests.reduce(into: []) { $0.formUnion($1.options.secretQueryItems) }
        // The redactor notes the secrets that it replaces.
        for request in requests { _ = redacted(request) }
    }

    private func redacted(_ request: Request) -> RecordedRequest {
        redactor.matchable(
            RecordedRequest(request.head, secretFields: secretFields, secretQueryItems: secretQueryItems))
    }

    func shown(_ request: Request) -> StackComparison.WireRequest {
        var shown = redacted(request)
        for index in shown.fields.indices { shown.fields[index].value = scanner.masked(shown.fields[index].value) }
        return StackComparison.WireRequest(
            method: shown.method, url: scanner.masked(shown.url), fields: shown.fields)
    }
}
