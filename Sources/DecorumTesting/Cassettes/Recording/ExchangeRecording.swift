import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    func record(_ request: RecordedRequest, masking items: Set<String>) -> ExchangeRecording {
        state.withLock { state in
            state.eventCount += 1
            let recording = ExchangeRecording(
                request, masking: items, sent: state.eventCount, rules: rules, date: clock.recordingDate)
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
final class ExchangeRecording: Sendable {
    private struct State {
        var interaction: Interaction
        var answered: Int?
        var transfer: RecordedTransfer?
        var isOverLimit = false
    }

    let sent: Int
    private let rules: CassetteRules
    private let secretItems: Set<String>
    private let monitor: Monitor<State>

    init(
        _ request: RecordedRequest, masking secretItems: Set<String>, sent: Int, rules: CassetteRules, date: Date
    ) {
        self.sent = sent
        self.secretItems = secretItems
        self.rules = rules
        monitor = Monitor(State(interaction: Interaction(request: request, recordedAt: date)))
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

    func record(_ response: Response, answered: Int, clock: any DatedClock, spawner: any TaskSpawner) -> Response {
        var response = response
        var recorded = RecordedResponse(response)
        if !secretItems.isEmpty { recorded.fields = Redaction(ofItems: secretItems).applied(to: recorded.fields) }
        var transfer: RecordedTransfer?
        if let bytes = response.body.bytes {
            recorded.body.bytes = bytes
        } else {
            let started = RecordedTransfer(response.body, rules: rules, clock: clock, spawner: spawner)
            response.body = started.body(typed: response.body.mediaType)
            transfer = started
        }
        monitor.update { [recorded, transfer] state in
            state.interaction.response = recorded
            state.transfer = transfer
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
    func begin() { monitor.read(\.transfer)?.begin() }

    /// Waits for the end of the exchange, within the limits for a remainder.
    func end() async {
        if answered == nil {
            await rules.remainder.wait { [monitor] in try await monitor.wait { $0.answered != nil } }
            begin()
        }
        await monitor.read(\.transfer)?.end()
    }

    /// Stops reading what the test has dropped.
    func stop() { monitor.read(\.transfer)?.stop() }

    func interaction() throws -> Interaction? {
        let state = monitor.state
        guard state.answered != nil else { return nil }
        var interaction = state.interaction
        let arrival = state.transfer?.arrival
        guard !state.isOverLimit, arrival?.isOverLimit != true,
            interaction.response?.body.bytes.count ?? 0 <= rules.bodyLimit
        else { throw BodyLimitError(limit: rules.bodyLimit) }
        guard let arrival, var response = interaction.response else { return interaction }
        response.body.bytes = arrival.content
        if response.isStream, arrival.chunks.count > 1 { response.chunks = arrival.chunks }
        switch arrival.end {
        case .finished(let trailers): response.trailers = trailers
        case .failed(let error): interaction.failure = RecordedFailure(error, stage: .body)
        case .cut, nil: interaction.failure = RecordedFailure(kind: RecordedFailure.abandoned, stage: .body)
        }
        interaction.response = response
        return interaction
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
