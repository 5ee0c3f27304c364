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

    /// Answers in a cancelled task too, since a law examines which requests arrive after a cancellation.
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

/// A body that records how it is read, and whether the transfer that it stands for is still held.
final class BodyProbe: Sendable {
    /// The bytes of a body.
    enum Content: Sendable {
        /// The bytes of ``BytePattern``, as many as the chunks have.
        case pattern
        /// The given bytes, in a few chunks.
        case bytes(Data)
    }

    struct State: Sendable {
        var openings = 0
        var chunksRead = 0
        var bytesRead = 0
        var holders = 0
        var failures = 0
    }

    static let chunkSize = 4 << 10

    private let content: Content
    private let monitor = Monitor(State())

    init(_ content: Content = .pattern) {
        self.content = content
    }

    var state: State { monitor.state }
    /// Whether the body or its reader is still held; only for bodies that can be read once.
    var isHeld: Bool { state.holders > 0 }

    /// The whole content of a body with a number of chunks.
    func data(chunks: Int) -> Data {
        switch content {
        case .pattern: BytePattern.bytes(chunks * Self.chunkSize)
        case .bytes(let data): data
        }
    }

    /// Whether the body starts with these bytes.
    func matches(_ data: Data) -> Bool {
        switch content {
        case .pattern: BytePattern.matches(data)
        case .bytes(let bytes): bytes.starts(with: data)
        }
    }

    /// The largest number of bytes in one chunk.
    var largestChunk: Int {
        switch content {
        case .pattern: Self.chunkSize
        // Five chunks, so that some content follows the chunk that is read first.
        case .bytes(let data): max(1, (data.count + 4) / 5)
        }
    }

    /// Makes a body.
    ///
    /// A failure ends the body in place of the last chunk of bytes that are given, or behind the pattern.
    func body(
        chunks: Int, knowingLength: Bool = false, replay: Body.Replay = .once, trailers: HTTPFields? = nil,
        failure: (any Error)? = nil, gate: Gate? = nil
    ) -> Body {
        let holder = Holder(self)
        let whole = data(chunks: chunks)
        let data = whole.dropLast(failure == nil ? 0 : sizeOfLoss)
        return Body(length: knowingLength ? Int64(whole.count) : nil, replay: replay) { offset in
            holder.probe.monitor.update { $0.openings += 1 }
            return Reader(
                holder: holder, rest: data.dropFirst(Int(offset)), trailers: trailers, failure: failure, gate: gate)
        }
    }

    /// The number of bytes that are missing from a body that fails.
    private var sizeOfLoss: Int {
        switch content {
        case .pattern: 0
        case .bytes: largestChunk
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
        var rest: Data
        let trailers: HTTPFields?
        let failure: (any Error)?
        let gate: Gate?

        mutating func next() async throws -> Data? {
            guard !rest.isEmpty else {
                try await gate?.wait()
                guard let failure else { return nil }
                holder.probe.monitor.update { $0.failures += 1 }
                throw failure
            }
            let chunk = rest.prefix(holder.probe.largestChunk)
            rest = rest.dropFirst(chunk.count)
            holder.probe.monitor.update { state in
                state.chunksRead += 1
                state.bytesRead += chunk.count
            }
            return chunk
        }
    }
}

extension Body {
    /// The content and the trailers of a body that a law created; each of them is smaller than the limit.
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
