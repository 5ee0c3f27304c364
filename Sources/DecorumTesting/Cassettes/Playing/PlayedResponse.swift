public import Decorum
import Foundation
import HTTPTypes

/// The outcome of a recorded request: a response, a failure, or a response whose content failed.
struct RecordedOutcome: Sendable {
    var response: RecordedResponse?
    let failure: RecordedFailure?
    /// The place of the interaction in the file, counted from 0; nil if it is in no file.
    var ordinal: Int?
}

extension Response {
    /// A recorded response as it arrived: its head, and its content in the recorded chunks and with the recorded end.
    ///
    /// A failure is thrown by `fail` at the end of the content.
    init(
        playing recorded: RecordedResponse, _ metadata: consuming ResponseMetadata, timing: CassetteRules.Timing,
        waits: PlayedWait?, fail: (@Sendable () async throws -> Void)?
    ) {
        let body = Body(length: fail == nil ? Int64(recorded.body.bytes.count) : nil, replay: .once) { _ in
            PlayedBodyReader(
                rest: recorded.body.bytes, chunks: recorded.chunks[...],
                trailers: recorded.trailers.isEmpty ? nil : recorded.trailers, timing: timing, waits: waits, fail: fail)
        }
        self.init(
            head: HTTPResponse(status: recorded.statusLine, headerFields: recorded.fields), body: body,
            metadata: metadata)
        if !recorded.informational.isEmpty {
            self.metadata.informational = recorded.informational.map {
                HTTPResponse(status: .init(code: $0.status), headerFields: $0.fields)
            }
        }
        if let coding = recorded.coding {
            self.metadata.decodedContentCodings = coding.split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }
}

private struct PlayedBodyReader: BodyReader {
    var rest: Data
    var chunks: ArraySlice<RecordedResponse.Chunk>
    let trailers: HTTPFields?
    let timing: CassetteRules.Timing
    let waits: PlayedWait?
    let fail: (@Sendable () async throws -> Void)?

    mutating func next() async throws -> Data? {
        while !rest.isEmpty {
            try Task.checkCancellation()
            guard let chunk = chunks.popFirst() else {
                defer { rest = Data() }
                return rest
            }
            if let pause = timing.pause(milliseconds: chunk.pause) { try await waits?.wait(for: pause, at: .body) }
            let data = rest.prefix(chunk.length)
            rest = rest.dropFirst(chunk.length)
            if !data.isEmpty { return data }
        }
        try await fail?()
        return nil
    }
}

extension CassetteRules.Timing {
    var mayWait: Bool {
        if case .immediate = self { false } else { true }
    }

    func pause(milliseconds: Int) -> Duration? {
        let factor: Double
        switch self {
        case .immediate: return nil
        case .recorded: factor = 1
        case .scaled(let scale): factor = scale
        }
        guard milliseconds > 0, factor > 0 else { return nil }
        // The limit on the factor avoids an overflow of `Duration`, because a file may hold any number.
        return .milliseconds(milliseconds) * min(factor, 1000)
    }
}

extension RecordedFailure {
    init(_ error: any Error, stage: Stage = .head) {
        if error is CancellationError {
            self.init(kind: Self.cancelled, stage: stage)
        } else if let error = error as? TransportError {
            let stage = [Stage.connect, .body].first { $0.ofTransport == error.stage } ?? .head
            self.init(kind: error.code.description, stage: stage)
        } else {
            self.init(kind: TransportError.Code.other.description, stage: stage)
        }
    }

    /// Throws the recorded failure; a cancelled exchange waits until it is cancelled again, or a limit is reached.
    func play(waiting: PlayedWait?) async throws {
        guard kind == Self.cancelled else { throw TransportError(TransportError.Code(kind), at: stage.ofTransport) }
        try await waiting?.waitForever(at: stage.ofTransport)
        throw CancellationError()
    }
}

/// A test reads more of a response than was recorded.
///
/// The recorder stopped there, because the test that was recorded had dropped the content, and the rest of it was beyond
/// the limits of ``CassetteRules/remainder``.
public struct RecordingEndedError: Error, Hashable, Sendable {
    /// The method and the URL of the request, redacted.
    public let request: String
    /// The number of bytes that are recorded.
    public let length: Int
    /// The path of the cassette.
    public let file: String
    let advice: String
    /// The recording in full, redacted, for the report of a test; empty if it cannot be read.
    package let report: String
}

extension RecordingEndedError: DescribableError {
    /// The place, the cause, and how to record the rest.
    public var description: String {
        """
        The recording of \(request) ends here, after \(length) bytes, because the recorded test had dropped the response.
        fix: \(advice); an endless response ends at the limits of `rules.remainder`
        file: \(file)
        """
    }
}

extension RecordedFailure.Stage {
    fileprivate var ofTransport: TransportError.Stage {
        switch self {
        case .connect: .connecting
        case .head: .head
        case .body: .body
        }
    }
}

/// The waits of a replay, which end at the limits of the request as the waits of a transport do.
///
/// It is a class, since an instant has no fixed size, and each asynchronous function that holds one allocates memory for it.
final class PlayedWait: Sendable {
    private let clock: any DatedClock
    /// The limits of the request; without them, a recorded pause may be as long as it was.
    private let limits: TransferLimits?
    private let request: Request

    /// Creates the waits for the answer to a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - clock: The clock of the cassette, of which the limits are instants.
    /// - Throws: `InvalidRequestError` when the idle timeout is negative.
    init(for request: borrowing Request, on clock: any DatedClock) throws {
        self.clock = clock
        let options = request.options
        let isLimited = options.deadline != nil || options.bodyDeadline != nil || options.idleTimeout != nil
        limits = isLimited ? try TransferLimits(options, idleTimeout: TransferLimits.longestIdleTimeout) : nil
        self.request = Request(head: request.head, options: options)
    }

    /// Waits for a pause in which nothing arrives.
    ///
    /// - Throws: `TransportError` where a limit is reached first, and `CancellationError`.
    func wait(for pause: Duration, at stage: TransportError.Stage) async throws {
        let now = clock.now
        guard let limit = limits?.next(after: now, at: stage), limit.instant <= now + pause else {
            return try await clock.sleep(for: pause)
        }
        try await end(at: limit, stage)
    }

    /// Waits for an answer that never arrives.
    ///
    /// - Throws: `TransportError` where a limit is reached, and `CancellationError`.
    func waitForever(at stage: TransportError.Stage) async throws {
        if let limits { try await end(at: limits.next(after: clock.now, at: stage), stage) }
        // The stream never yields an element, and cancellation ends it.
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in stream {}
        continuation.finish()
        throw CancellationError()
    }

    private func end(at limit: TimeLimit, _ stage: TransportError.Stage) async throws {
        if limit.instant > clock.now { try await clock.sleep(until: limit.instant, tolerance: nil) }
        try Task.checkCancellation()
        guard let error = limits?.error(at: limit, stage) else { return }
        throw TransportError.locate(error, in: request, after: nil)
    }
}
