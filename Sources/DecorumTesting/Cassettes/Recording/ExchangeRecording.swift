import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// One exchange while it is recorded: it starts with the request, and grows with each part of the response.
final class ExchangeRecording: Sendable {
    private struct State {
        var interaction: Interaction
        var requestContent: Data?
        var content = Data()
        var chunks: [RecordedResponse.Chunk] = []
        var lastArrival: ContinuousClock.Instant?
        var isOverLimit = false
    }

    /// Whether the request was sent by the task that opened the cassette.
    let isFromOpener: Bool
    private let clock: any DatedClock
    private let limit: Int
    private let state: Mutex<State>

    init(_ request: RecordedRequest, isFromOpener: Bool, limit: Int, clock: any DatedClock) {
        self.isFromOpener = isFromOpener
        self.clock = clock
        self.limit = limit
        state = Mutex(State(interaction: Interaction(request: request, recordedAt: clock.date)))
    }

    /// Records the content of a request while the transport reads it.
    func observeRequest(_ event: BodyEvent) {
        state.withLock { state in
            switch event {
            case .chunk(let data): append(data, to: &state.interaction.request.body.bytes, &state.isOverLimit)
            case .finished(let trailers): state.interaction.request.trailers = trailers ?? [:]
            case .failed, .abandoned: break
            }
        }
    }

    /// Records the head of the response, and its content as it is read.
    func record(_ response: Response) -> Response {
        var response = response
        state.withLock { state in
            state.interaction.response = RecordedResponse(response)
            state.interaction.failure = RecordedFailure(kind: RecordedFailure.abandoned, stage: .body)
            state.lastArrival = clock.now
        }
        if let bytes = response.body.bytes {
            observeResponse(.chunk(bytes))
            observeResponse(.finished(trailers: nil))
        } else {
            response.body = response.body.observed { [self] in observeResponse($0) }
        }
        return response
    }

    /// Records the failure of an exchange without a response.
    func record(_ error: any Error) {
        state.withLock { $0.interaction.failure = RecordedFailure(error) }
    }

    private func observeResponse(_ event: BodyEvent) {
        state.withLock { state in
            switch event {
            case .chunk(let data):
                let now = clock.now
                let pause = state.lastArrival.map { $0.duration(to: now) } ?? .zero
                state.lastArrival = now
                state.chunks.append(.init(pause: pause.inMilliseconds, length: data.count))
                append(data, to: &state.content, &state.isOverLimit)
            case .finished(let trailers):
                state.interaction.failure = nil
                state.interaction.response?.trailers = trailers ?? [:]
            case .failed(let error): state.interaction.failure = RecordedFailure(error, stage: .body)
            case .abandoned: break
            }
        }
    }

    private func append(_ data: Data, to content: inout Data, _ isOverLimit: inout Bool) {
        if content.count + data.count <= limit { content.append(data) } else { isOverLimit = true }
    }

    /// The interaction as recorded up to now.
    ///
    /// - Throws: `BodyLimitError` if a body was longer than the limit for recording.
    func interaction() throws -> Interaction {
        try state.withLock { state in
            guard !state.isOverLimit else { throw BodyLimitError(limit: limit) }
            var interaction = state.interaction
            interaction.response?.body.bytes = state.content
            if interaction.response?.isStream == true, state.chunks.count > 1 {
                interaction.response?.chunks = state.chunks
            }
            return interaction
        }
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
        let essence = (fields[.contentType] ?? "").prefix { $0 != ";" }.lowercased()
        return [
            "text/event-stream", "multipart/x-mixed-replace", "application/x-ndjson", "application/jsonl",
            "application/json-seq", "application/stream+json", "application/vnd.amazon.eventstream",
        ].contains(essence)
    }
}

extension Duration {
    fileprivate var inMilliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
