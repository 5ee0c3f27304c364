import Decorum
import Foundation
import HTTPTypes

extension DecoratorLaw {
    /// Demands that the body of a request is read at most once for each time that the request is sent.
    ///
    /// A body that can be read once only is a transfer from elsewhere: whoever opens it a second time finds nothing to
    /// send. One that starts anew each time may be expensive to make. A layer that must know the content, such as a
    /// digest, reads it once and forwards what it has read.
    public static let requestBodiesOnce = DecoratorLaw(
        "request bodies are read once", "The body of a request is read at most once for each sending."
    ) { subject in
        for provocation in Provocation.all {
            for replay in [Body.Replay.once, .fromStart] {
                try await checkReadings(of: replay, in: subject, under: provocation)
            }
        }
    }

    private static func checkReadings(
        of replay: Body.Replay, in subject: DecoratorSubject, under provocation: Provocation
    ) async throws {
        let content = BodyProbe()
        let body = content.body(chunks: 3, replay: replay)
        let request = try Request.lawful(.put, body: replay == .once && provocation.calls > 1 ? .empty : body)
        let failures = Monitor<[ConformanceFailure]>([])
        let sendings = Monitor(0)
        _ = try await provocation.provoke(subject, with: request) { request, _, outcome in
            sendings.update { $0 += 1 }
            do {
                let data = request.body.isEmpty ? nil : try await request.body.collectAll().data
                try require(data.map { BytePattern.matches($0) } ?? true, "The content of the request was changed.")
            } catch let failure as ConformanceFailure {
                failures.update { $0.append(failure) }
            } catch {
                failures.update {
                    $0.append(ConformanceFailure("After \(provocation), the content could not be sent: \(error)"))
                }
            }
            return Response(head: try outcome.get())
        }
        if let failure = failures.state.first { throw failure }
        let count = content.state.openings
        try require(
            count <= max(sendings.state, 1),
            "After \(provocation), the content was opened \(count) times for \(sendings.state) sendings.")
    }

    /// Demands that the content of a request is read no earlier than the transport takes it.
    ///
    /// A layer that reads ahead holds an upload of any size in memory, and delays its start until the last byte is
    /// there. One chunk may be ready.
    public static let requestStreaming = DecoratorLaw(
        "requests stream", "The content of a request is read at most one chunk ahead of the transport."
    ) { subject in
        let content = BodyProbe()
        let ahead = Monitor(0)
        let probe = Probe { request, _ in
            var reader = try await request.body.open()
            for taken in 1...3 {
                _ = try await reader.next()
                ahead.update { $0 = max($0, content.state.chunksRead - taken) }
            }
            return Response(status: .ok)
        }
        let connection = try subject.connection(over: probe)
        _ = try await connection.send(.lawful(.put, body: content.body(chunks: 64)))
        try require(ahead.state <= 1, "\(ahead.state) chunks were read ahead of the transport.")
    }

    /// Demands that the trailer fields of a request reach the transport.
    public static let requestTrailers = DecoratorLaw(
        "request trailers survive", "The trailer fields behind the content of a request reach the transport."
    ) { subject in
        let trailers: HTTPFields = [.eTag: "1", .server: "a", .eTag: "2"]
        for knowsLength in [true, false] {
            let received = Monitor<HTTPFields>([:])
            let probe = Probe { request, _ in
                let fields = try await request.body.collectAll().trailers
                received.update { $0 = fields }
                return Response(status: .ok)
            }
            let body = BodyProbe().body(chunks: 2, knowingLength: knowsLength, trailers: trailers)
            _ = try await subject.connection(over: probe).send(.lawful(.put, body: body))
            try require(received.state == trailers, "The trailers \(trailers) arrived as \(received.state).")
        }
    }
}
