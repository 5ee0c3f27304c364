import DecorumCompression
import Foundation
import Synchronization

/// Applies a content coding piece by piece.
final class ContentEncoder: Sendable {
    /// The moment up to which a decoder gets everything that was encoded.
    enum Flush: Sendable {
        /// Keeps what makes the result smaller.
        case none
        /// Up to here.
        case all
        /// Up to here, where the content ends.
        case end
    }

    private let stage: Mutex<EncodingStage>

    /// Creates an encoder; nil where the coding is not available.
    ///
    /// - Parameters:
    ///   - coding: The coding.
    ///   - level: How much time to spend for a smaller result, in the coding's own scale; nil for its usual level.
    init?(_ coding: ContentCoding, level: Int? = nil) {
        guard let stage = EncodingStage(coding, level: level) else { return nil }
        self.stage = Mutex(stage)
    }

    /// Encodes a part of the content; the result may be empty.
    func encode(_ data: Data, flush: Flush) throws(ContentCodingError) -> Data {
        try stage.withLock { stage throws(ContentCodingError) in try stage.encode(data, flush: flush) }
    }
}

/// The state of an encoder, which one thread uses at a time.
@safe private final class EncodingStage {
    private let coding: ContentCoding
    private let buffers = CodingBuffers()
    private let encoder: OpaquePointer

    init?(_ coding: ContentCoding, level: Int?) {
        guard let format = coding.format,
            let encoder = unsafe decorum_encoder_create(format, format.level(level))
        else { return nil }
        self.coding = coding
        unsafe self.encoder = encoder
    }

    deinit {
        unsafe decorum_encoder_free(encoder)
    }

    func encode(_ data: Data, flush: ContentEncoder.Flush) throws(ContentCodingError) -> Data {
        buffers.feed(data)
        var result = Data()
        var mayHoldMore = true
        while mayHoldMore {
            let (step, _) = unsafe buffers.run { unsafe decorum_encode(encoder, &$0, flush.mode) }
            guard step == DECORUM_STEP_CONTINUES || step == DECORUM_STEP_ENDED else { throw .outOfMemory(coding) }
            // A coder that is asked again after its end would begin another, empty frame.
            mayHoldMore = step != DECORUM_STEP_ENDED && (buffers.isFull || buffers.hasInput)
            if let part = buffers.takeOutput() { result.append(part) }
        }
        return result
    }
}

extension ContentEncoder.Flush {
    fileprivate var mode: decorum_flush {
        switch self {
        case .none: DECORUM_FLUSH_NONE
        case .all: DECORUM_FLUSH_ALL
        case .end: DECORUM_FLUSH_END
        }
    }
}

extension decorum_format {
    /// A level within the scale of the format; by default one that is faster than a network.
    fileprivate func level(_ level: Int?) -> Int32 {
        switch self {
        case DECORUM_FORMAT_BROTLI: Int32(min(max(level ?? 5, 0), 11))
        case DECORUM_FORMAT_ZSTD: Int32(min(max(level ?? 3, 1), 19))
        default: Int32(min(max(level ?? 6, 1), 9))
        }
    }
}
