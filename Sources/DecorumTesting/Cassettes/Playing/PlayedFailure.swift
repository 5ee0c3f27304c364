import Decorum

extension RecordedFailure {
    /// The kind of a body that its reader had dropped before its end.
    static let abandoned = "abandoned"
    /// The kind of an exchange that was cancelled.
    static let cancelled = "cancelled"

    init(_ error: any Error, stage: Stage = .head) {
        if error is CancellationError {
            self.init(kind: Self.cancelled, stage: stage)
        } else if let error = error as? TransportError {
            self.init(kind: error.code.description, stage: Stage(error.stage))
        } else {
            self.init(kind: TransportError.Code.other.description, stage: stage)
        }
    }

    /// Throws the recorded failure; a cancelled exchange waits until it is cancelled again.
    func play() async throws {
        switch kind {
        case Self.cancelled:
            // The stream never yields an element, and cancellation ends it.
            let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in stream {}
            continuation.finish()
            throw CancellationError()
        case Self.abandoned:
            throw TransportError(.truncated, at: .body, underlying: RecordingEndedError())
        default:
            throw TransportError(TransportError.Code(kind), at: TransportError.Stage(stage))
        }
    }
}

/// A reader reads more of a body than was read during the recording, so the rest is unknown.
struct RecordingEndedError: Error, CustomStringConvertible {
    var description: String { "The recording ends here, since its reader dropped the body; record it again." }
}

extension RecordedFailure.Stage {
    fileprivate init(_ stage: TransportError.Stage) {
        switch stage {
        case .connecting: self = .connect
        case .head: self = .head
        case .body: self = .body
        }
    }
}

extension TransportError.Stage {
    fileprivate init(_ stage: RecordedFailure.Stage) {
        switch stage {
        case .connect: self = .connecting
        case .head: self = .head
        case .body: self = .body
        }
    }
}
