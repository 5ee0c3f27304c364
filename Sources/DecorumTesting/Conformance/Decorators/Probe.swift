import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// The base that a law puts under a decorator: it counts the requests, and answers each as the law says.
final class Probe: Connection {
    typealias Answer = @Sendable (_ request: Request, _ number: Int) async throws -> Response

    private let received = Mutex<[Request]>([])
    private let answer: Answer

    init(_ answer: @escaping Answer) {
        self.answer = answer
    }

    let layers = [Layer(name: "outer probe", role: .other), Layer(name: "probe", role: .transport)]

    var requests: [Request] { received.withLock { $0 } }

    /// Answers also in a task that is cancelled: what reaches it then is what a law wants to know.
    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        request.reportSending()
        let number = received.withLock { received in
            received.append(request)
            return received.count
        }
        return try await answer(request, number)
    }
}

/// A body that tells how it is read, and whether the transfer that it stands for is still held by somebody.
final class BodyProbe: Sendable {
    struct State: Sendable {
        var openings = 0
        var chunksRead = 0
        var holders = 0
    }

    static let chunkSize = 4 << 10

    private let monitor = Monitor(State())

    var state: State { monitor.state }
    /// Whether the body, or what reads it, is still held by somebody; told of bodies that are read once.
    var isHeld: Bool { state.holders > 0 }

    /// Makes a body of the bytes of ``BytePattern``.
    func body(
        chunks: Int, knowingLength: Bool = false, replay: Body.Replay = .once, trailers: HTTPFields? = nil,
        failure: (any Error)? = nil, gate: Gate? = nil
    ) -> Body {
        let holder = Holder(self)
        let length = knowingLength ? Int64(chunks * Self.chunkSize) : nil
        return Body(length: length, replay: replay) { offset in
            holder.probe.monitor.update { $0.openings += 1 }
            return Reader(
                holder: holder, rest: chunks, offset: offset, trailers: trailers, failure: failure, gate: gate)
        }
    }

    private final class Holder: Sendable {
        let probe: BodyProbe

        init(_ probe: BodyProbe) {
            self.probe = probe
            probe.monitor.update { $0.holders += 1 }
        }

        deinit {
            probe.monitor.update { $0.holders -= 1 }
        }
    }

    private struct Reader: BodyReader {
        let holder: Holder
        var rest: Int
        var offset: Int64
        let trailers: HTTPFields?
        let failure: (any Error)?
        let gate: Gate?

        mutating func next() async throws -> Data? {
            guard rest > 0 else {
                try await gate?.wait()
                if let failure { throw failure }
                return nil
            }
            rest -= 1
            defer { offset += Int64(BodyProbe.chunkSize) }
            holder.probe.monitor.update { $0.chunksRead += 1 }
            return BytePattern.bytes(BodyProbe.chunkSize, at: offset)
        }
    }
}

extension Body {
    /// The content and the trailers of a body that a law made, of which none is this large.
    func collectAll() async throws -> (data: Data, trailers: HTTPFields) {
        try await collect(upTo: 1 << 24)
    }
}

extension Request {
    /// A request to the origin of the laws.
    static func lawful(
        _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Body = .empty
    ) throws -> Request {
        try Request(method, DecoratorLaw.origin + "/resource?a=b", fields: fields, body: body)
    }
}
