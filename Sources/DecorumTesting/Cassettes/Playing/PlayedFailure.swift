public import Decorum
import Foundation

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

    /// Whether the recorder stopped before the end of the content.
    var isCut: Bool { kind == Self.abandoned }

    /// Throws the recorded failure; a cancelled exchange waits until it is cancelled again, or a limit is reached.
    func play(waiting: PlayedWait?) async throws {
        switch kind {
        case Self.cancelled:
            try await waiting?.waitForever(at: TransportError.Stage(stage))
            throw CancellationError()
        default:
            throw TransportError(TransportError.Code(kind), at: TransportError.Stage(stage))
        }
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
