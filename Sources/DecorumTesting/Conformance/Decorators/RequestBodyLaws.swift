import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the body of a request is read at most once for each time that the request is sent.
    ///
    /// A body that can be read once is a transfer from elsewhere, and empty when it is opened a second time. A body that
    /// starts anew each time may be expensive to make. A layer that needs the content, such as a digest, reads it once and
    /// forwards what it has read.
    public static let requestBodiesOnce = DecoratorLaw(
        "requestBodiesOnce", "The body of a request is read at most once for each sending."
    ) { subject in
        for path in subject.provocations {
            for replay in [Body.Replay.once, .fromStart] {
                try await checkReadings(of: replay, in: subject, on: path)
            }
        }
    }

    private static func checkReadings(
        of replay: Body.Replay, in subject: DecoratorSubject, on path: ActivePath
    ) async throws {
        let content = BodyProbe(path.requestContent)
        let body = content.body(chunks: 3, replay: replay)
        let request = try path.request(.put, body: replay == .once && path.calls > 1 ? .empty : body)
        let mayChange = subject.mayChange(.requestContent, on: path)
        let failures = Monitor<[ConformanceFailure]>([])
        let sendings = Monitor(0)
        _ = try await path.provoke(subject, with: request) { request, _, outcome in
            guard !subject.isOwnRequest(request.head) else { return try outcome.get() }
            sendings.update { $0 += 1 }
            do {
                let data = request.body.isEmpty ? nil : try await request.body.collectAll().data
                try require(
                    mayChange || data.map { content.matches($0) } ?? true, "The content of the request was changed.")
            } catch let failure as ConformanceFailure {
                failures.update { $0.append(failure) }
            } catch {
                failures.update {
                    $0.append(ConformanceFailure("After \(path), the content could not be sent: \(error)"))
                }
            }
            return try outcome.get()
        }
        if let failure = failures.state.first { throw failure }
        let count = content.state.openings
        try require(
            count <= max(sendings.state, 1),
            "After \(path), the content was opened \(count) times for \(sendings.state) sendings.")
    }

    /// Demands that the content of a request is read no earlier than the transport takes it.
    ///
    /// A layer that reads ahead holds an upload of any size in memory, and delays its start until the last byte is
    /// there. One chunk may be ready.
    public static let requestStreaming = DecoratorLaw(
        "requestStreaming", "The content of a request is read at most one chunk ahead of the transport."
    ) { subject in
        for path in [.ordinary] + subject.activePaths where path.calls == 1 {
            let content = BodyProbe(path.requestContent)
            // Where the content changes, its chunks cannot be counted after the first one was read.
            let steps = subject.mayChange(.requestContent, on: path) ? 0 : 3
            let ahead = Monitor(0)
            let request = try path.request(.put, body: content.body(chunks: 64))
            _ = try await path.provoke(subject, with: request) { request, number, outcome in
                guard number == 1, !subject.isOwnRequest(request.head) else { return try outcome.get() }
                var reader = try await request.body.open()
                for taken in 0...steps {
                    if taken > 0 { _ = try await reader.next() }
                    let count = content.state.chunksRead
                    ahead.update { $0 = max($0, count - taken) }
                }
                return try outcome.get()
            }
            try require(ahead.state <= 1, "With \(path), \(ahead.state) chunks were read ahead of the transport.")
        }
    }

    /// Demands that the trailer fields of a request reach the transport.
    public static let requestTrailers = DecoratorLaw(
        "requestTrailers", "The trailer fields behind the content of a request reach the transport."
    ) { subject in
        let trailers: HTTPFields = [.eTag: "1", .server: "a", .eTag: "2"]
        for path in [.ordinary] + subject.activePaths {
            for knowsLength in [true, false] {
                let received = Monitor<[HTTPFields]>([])
                let body = BodyProbe(path.requestContent).body(
                    chunks: 2, knowingLength: knowsLength, replay: path.isOfLaws ? .once : .fromStart,
                    trailers: trailers)
                let request = try path.request(.put, body: body)
                _ = try await path.provoke(subject, with: request) { request, _, outcome in
                    // A request that has become one without content, as after a 303, has no trailers either.
                    guard !subject.isOwnRequest(request.head), !request.body.isEmpty else { return try outcome.get() }
                    let fields = try await request.body.collectAll().trailers
                    received.update { $0.append(fields) }
                    return try outcome.get()
                }
                try require(
                    !path.isOfLaws || !received.state.isEmpty, "The content of the request was not sent.")
                for fields in received.state {
                    try require(
                        fields == trailers, "With \(path), the trailers \(trailers) arrived as \(fields).")
                }
            }
        }
    }
}
