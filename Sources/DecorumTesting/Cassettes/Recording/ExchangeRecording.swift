import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    func record(_ request: RecordedRequest, masking items: Set<String>) -> ExchangeRecording {
        state.withLock { state in
            state.eventCount += 1
            let recording = ExchangeRecording(
                request, masking: items, sent: state.eventCount, rules: rules, clock: clock, spawner: spawner)
            state.recordings.append(recording)
            return recording
        }
    }

    func nextEvent() -> Int {
        state.withLock { state in
            state.eventCount += 1
            return state.eventCount
        }
    }

    /// Waits until the responses have been read to their ends, or to the limits.
    func endRecordings() async {
        let recordings = state.withLock { $0.recordings }
        for recording in recordings { recording.begin() }
        for recording in recordings { await recording.end() }
    }
}

/// One exchange while it is recorded: it starts with the request, and grows with each part of the response.
///
/// The content of the response outlives its reader: a task reads it, one chunk for each that the reader asks for. When the
/// reader drops the content, or the cassette is finished, the task reads on to the end or to the limits for a remainder.
final class ExchangeRecording: Sendable {
    private enum End: Sendable {
        case finished(trailers: HTTPFields)
        case failed(any Error)
        /// A limit for the remainder was reached.
        case cut
    }

    private struct State {
        var interaction: Interaction
        var answered: Int?
        /// Whether the content of a message is longer than what is recorded.
        var isOverLimit = false

        /// Whether the content of the response arrives in chunks.
        var isStreamed = false
        var content = Data()
        var chunks: [RecordedResponse.Chunk] = []
        var end: End?
        var lastArrival: ContinuousClock.Instant?
        var body: Body?
        var task: Task<Void, Never>?
        var unread: [Data] = []
        var isWanted = false
        var isDropped = false
        var isLast = false
        var remainder: Int

        var readsOn: Bool { isDropped || isLast }
    }

    let sent: Int
    private let rules: CassetteRules
    private let secretItems: Set<String>
    private let clock: any DatedClock
    private let spawner: any TaskSpawner
    private let monitor: Monitor<State>

    init(
        _ request: RecordedRequest, masking secretItems: Set<String>, sent: Int, rules: CassetteRules,
        clock: any DatedClock, spawner: any TaskSpawner
    ) {
        self.sent = sent
        self.secretItems = secretItems
        self.rules = rules
        self.clock = clock
        self.spawner = spawner
        let interaction = Interaction(request: request, recordedAt: clock.recordingDate)
        monitor = Monitor(State(interaction: interaction, remainder: rules.remainder.bytes))
    }

    /// The number of the event that answered the request; nil while it is under way.
    var answered: Int? { monitor.read(\.answered) }

    var hasResponse: Bool { monitor.read { $0.interaction.response != nil } }

    /// The kind of the failure of an exchange without a response; nil for any other, and for one that was cancelled.
    var failureKind: String? {
        monitor.read { state in
            guard state.interaction.response == nil, let kind = state.interaction.failure?.kind else { return nil }
            return kind == RecordedFailure.cancelled ? nil : kind
        }
    }

    /// Records the content of a request while the transport reads it.
    func observeRequest(_ event: BodyEvent) {
        monitor.update { state in
            switch event {
            case .chunk(let data):
                if state.interaction.request.body.bytes.count + data.count <= rules.bodyLimit {
                    state.interaction.request.body.bytes.append(data)
                } else {
                    state.isOverLimit = true
                }
            case .finished(let trailers): state.interaction.request.trailers = trailers ?? [:]
            case .failed, .abandoned: break
            }
        }
    }

    func record(_ response: Response, answered: Int) -> Response {
        var response = response
        var recorded = RecordedResponse(response)
        if !secretItems.isEmpty { recorded.fields = Redaction(ofItems: secretItems).applied(to: recorded.fields) }
        var body: Body?
        if let bytes = response.body.bytes {
            recorded.body.bytes = bytes
        } else {
            let lease = Lease(recording: self)
            let streamed = response.body
            response.body = Body(length: streamed.length, replay: .once) { _ in RecordedBodyReader(lease: lease) }
                .typed(as: streamed.mediaType)
            body = streamed
        }
        let now = clock.now
        monitor.update { [recorded, body] state in
            state.interaction.response = recorded
            state.isStreamed = body != nil
            state.body = body
            state.lastArrival = now
            state.answered = answered
        }
        return response
    }

    func record(_ error: any Error, answered: Int) {
        monitor.update { state in
            state.interaction.failure = RecordedFailure(error)
            state.answered = answered
        }
    }

    /// Reads the rest of the response, because the cassette is being finished.
    func begin() { readOn(isDropped: false) }

    /// Waits for the end of the exchange, within the limits for a remainder.
    func end() async {
        if answered == nil {
            await rules.remainder.wait { [monitor] in try await monitor.wait { $0.answered != nil } }
            begin()
        }
        guard monitor.read(\.isStreamed) else { return }
        try? await monitor.wait { $0.end != nil }
        // The waiting task may have been cancelled.
        finish(.cut)
    }

    /// Stops reading what the test has dropped.
    func stop() { if monitor.read(\.readsOn) { finish(.cut) } }

    func interaction() throws -> Interaction? {
        let state = monitor.state
        guard state.answered != nil else { return nil }
        var interaction = state.interaction
        guard !state.isOverLimit, interaction.response?.body.bytes.count ?? 0 <= rules.bodyLimit else {
            throw BodyLimitError(limit: rules.bodyLimit)
        }
        guard state.isStreamed, var response = interaction.response else { return interaction }
        response.body.bytes = state.content
        if response.isStream, state.chunks.count > 1 { response.chunks = state.chunks }
        switch state.end {
        case .finished(let trailers): response.trailers = trailers
        case .failed(let error): interaction.failure = RecordedFailure(error, stage: .body)
        case .cut, nil: interaction.failure = RecordedFailure(kind: RecordedFailure.abandoned, stage: .body)
        }
        interaction.response = response
        return interaction
    }

    private func readOn(isDropped: Bool) {
        let isFirst = monitor.update { state in
            guard state.isStreamed else { return false }
            let isFirst = !state.readsOn && state.end == nil
            if isDropped { (state.isDropped, state.unread) = (true, []) } else { state.isLast = true }
            return isFirst
        }
        guard isFirst else { return }
        start()
        spawner.spawn { [self] in
            await rules.remainder.wait { [monitor] in try await monitor.wait { $0.end != nil } }
            finish(.cut)
        }
    }

    /// The next chunk for the reader, and the trailer fields after the last one.
    fileprivate func next() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        start()
        let isDiscarding = Body.isDiscarding
        monitor.update { $0.isWanted = $0.unread.isEmpty }
        try await withTaskCancellationHandler {
            try await monitor.wait { !$0.unread.isEmpty || $0.end != nil }
        } onCancel: {
            if isDiscarding { readOn(isDropped: true) } else { finish(.failed(CancellationError())) }
        }
        let (chunk, end) = monitor.update { state in
            (state.unread.isEmpty ? nil : state.unread.removeFirst(), state.end)
        }
        if let chunk { return (chunk, nil) }
        switch end {
        case .finished(let trailers): return (nil, trailers)
        case .failed(let error): throw error
        // The cassette was finished before the reader came here.
        case .cut, nil: throw TransportError(.limitExceeded, at: .body)
        }
    }

    private func start() {
        guard let body = monitor.update({ $0.body.take() }) else { return }
        let task = spawner.spawn { [self] in await read(body) }
        let hasEnded = monitor.update { state in
            state.task = task
            return state.end != nil
        }
        if hasEnded { task.cancel() }
    }

    private func read(_ body: Body) async {
        do {
            var reader = try await body.open()
            while true {
                try await monitor.wait { $0.isWanted || $0.readsOn }
                guard let chunk = try await reader.next() else { break }
                guard accept(chunk) else { return finish(.cut) }
            }
            finish(.finished(trailers: reader.trailers ?? [:]))
        } catch {
            finish(.failed(error))
        }
    }

    /// Keeps a chunk; returns false if it is beyond the limits for the remainder.
    private func accept(_ chunk: Data) -> Bool {
        let now = clock.now
        return monitor.update { state in
            let isWithin = state.content.count + chunk.count <= rules.bodyLimit
            if state.readsOn {
                state.remainder -= chunk.count
                guard state.remainder >= 0, isWithin else { return false }
            }
            let pause = (state.lastArrival ?? now).duration(to: now)
            state.lastArrival = now
            state.chunks.append(.init(pause: pause.inMilliseconds, length: chunk.count))
            if isWithin { state.content.append(chunk) } else { state.isOverLimit = true }
            state.isWanted = false
            if !state.isDropped { state.unread.append(chunk) }
            return true
        }
    }

    private func finish(_ end: End) {
        let task = monitor.update { state in
            guard state.end == nil else { return nil as Task<Void, Never>? }
            state.end = end
            state.body = nil
            return state.task.take()
        }
        task?.cancel()
    }

    /// The right of a reader to the content; the last holder to release it drops the content.
    fileprivate final class Lease: Sendable {
        let recording: ExchangeRecording

        init(recording: ExchangeRecording) {
            self.recording = recording
        }

        deinit { recording.readOn(isDropped: true) }
    }
}

extension RecordedResponse {
    fileprivate init(_ response: Response) {
        let codings = response.metadata.decodedContentCodings
        self.init(
            status: response.status.code, reason: RecordedResponse.recordedReason(of: response.status),
            fields: response.head.headerFields,
            informational: response.metadata.informational.map {
                Interim(status: $0.status.code, fields: $0.headerFields)
            },
            coding: codings.isEmpty ? nil : codings.joined(separator: ", "))
    }

    /// Whether the time at which each part of the content arrived matters to a reader.
    fileprivate var isStream: Bool {
        let essence = (fields[.contentType] ?? "").mediaTypeEssence
        return [
            "text/event-stream", "multipart/x-mixed-replace", "application/x-ndjson", "application/jsonl",
            "application/json-seq", "application/stream+json", "application/vnd.amazon.eventstream",
        ].contains(essence)
    }
}

extension RecordedRequest {
    /// The head of a request; fields that a layer has declared secret are marked as such, for the redaction, and declared
    /// items of the query are masked.
    init(_ head: HTTPRequest, secretFields: Set<HTTPField.Name>, secretQueryItems: Set<String> = []) {
        // The target URI of `OPTIONS *` has no path (RFC 9112, section 3.3).
        var url = head.path == "*" ? "" : head.path ?? ""
        if let scheme = head.scheme, let authority = head.authority { url = "\(scheme)://\(authority)\(url)" }
        if !secretQueryItems.isEmpty { url = Redaction(ofItems: secretQueryItems).applied(toURL: url) }
        self.init(method: head.method.rawValue, url: url, fields: head.headerFields)
        guard !secretFields.isEmpty else { return }
        for index in fields.indices where secretFields.contains(fields[index].name) {
            fields[index].indexingStrategy = .disallow
        }
    }

    /// The head of a request, with the secrets that its options declare.
    init(_ head: HTTPRequest, declaredBy options: RequestOptions) {
        self.init(head, secretFields: options.secretFields, secretQueryItems: options.secretQueryItems)
    }

    init(reading request: borrowing Request, in cassette: Cassette) async throws {
        self.init(request.head, declaredBy: request.options)
        let (content, trailers) = try await request.body.collect(upTo: cassette.rules.bodyLimit)
        self.body.bytes = content
        self.trailers = trailers
    }
}

private struct RecordedBodyReader: BodyReader {
    let lease: ExchangeRecording.Lease
    private(set) var trailers: HTTPFields?

    init(lease: ExchangeRecording.Lease) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        let (chunk, trailers) = try await lease.recording.next()
        if let trailers, !trailers.isEmpty { self.trailers = trailers }
        return chunk
    }
}

extension Duration {
    fileprivate var inMilliseconds: Int {
        Int(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
}
