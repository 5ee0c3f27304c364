import DecorumCompression
import Foundation

/// Undoes one coding, piece by piece.
@safe final class DecodingStage {
    let coding: ContentCoding
    private let format: decorum_format
    private let buffers = CodingBuffers()
    private var decoder: OpaquePointer?
    /// Whether the output was filled, so that the decoder may hold more without new input.
    private var mayHoldMore = false
    /// Whether the last member, stream or frame that began has ended; also true before the first.
    private var isComplete = true
    /// Whether padding has come behind the last member, behind which no other member comes.
    private var isPadded = false

    init(_ coding: ContentCoding) throws(ContentCodingError) {
        guard let format = coding.format, coding.isDecodable else { throw .unavailable(coding) }
        self.coding = coding
        self.format = format
    }

    deinit {
        if let decoder = unsafe decoder { unsafe decorum_decoder_free(decoder) }
    }

    func feed(_ data: Data) {
        buffers.feed(data)
    }

    /// Decodes up to 64 KiB; nil where more input is needed.
    func next() throws(ContentCodingError) -> Data? {
        while !buffers.isFull, buffers.hasInput || mayHoldMore {
            guard try prepare() else { break }
            try advance()
        }
        return buffers.takeOutput()
    }

    /// Checks that the content is complete, once no more input comes and all output was taken.
    func finish() throws(ContentCodingError) {
        guard isComplete, !buffers.hasInput else { throw .truncated(coding) }
    }

    private func advance() throws(ContentCodingError) {
        guard let decoder = unsafe decoder else { return }
        isComplete = false
        let (step, moved) = unsafe buffers.run { unsafe decorum_decode(decoder, &$0) }
        mayHoldMore = buffers.isFull
        switch step {
        case DECORUM_STEP_CONTINUES:
            // A decoder that takes nothing of its input never will.
            guard moved || !buffers.hasInput else { throw .malformed(coding) }
        case DECORUM_STEP_ENDED:
            isComplete = true
            mayHoldMore = false
        case DECORUM_STEP_OUT_OF_MEMORY: throw .outOfMemory(coding)
        case DECORUM_STEP_LARGE_WINDOW: throw .largeWindow(coding)
        default: throw .malformed(coding)
        }
    }

    /// Makes the decoder ready for the next byte; returns false where it takes another byte to know the format.
    private func prepare() throws(ContentCodingError) -> Bool {
        if let decoder = unsafe decoder {
            guard isComplete else { return true }
            if format == DECORUM_FORMAT_GZIP, isPadded || buffers.first != Self.gzipStart {
                // Other bytes may be those of a damaged member, whose content must not be lost in silence.
                guard buffers.hasOnlyPadding else { throw .trailingData(coding) }
                isPadded = true
                buffers.discardInput()
                return false
            }
            // More members of gzip (RFC 1952, section 2.2) and frames of Zstandard (RFC 8878, section 3.1) may follow.
            guard let first = buffers.first, format.mayStart(with: first), unsafe decorum_decoder_restart(decoder) != 0
            else { throw .trailingData(coding) }
            return true
        }
        var format = format
        if format == DECORUM_FORMAT_ZLIB {
            guard let start = buffers.firstTwo else { return false }
            if !Self.isZlib(start) { format = DECORUM_FORMAT_DEFLATE }
        }
        unsafe decoder = decorum_decoder_create(format)
        guard unsafe decoder != nil else { throw .outOfMemory(coding) }
        return true
    }

    private static let gzipStart: UInt8 = 0x1F

    /// Whether two bytes begin a stream of zlib (RFC 1950, section 2.2): the method is 8, and the bytes are a multiple of 31.
    ///
    /// No encoder begins raw data like this: a first byte with these four bits is that of a stored block with bits in its
    /// padding.
    private static func isZlib(_ start: (UInt8, UInt8)) -> Bool {
        start.0 & 0x0F == 8 && start.0 >> 4 <= 7 && (UInt(start.0) << 8 | UInt(start.1)).isMultiple(of: 31)
    }
}

extension decorum_format {
    /// Whether a byte may be the first of another member or frame behind the first one.
    fileprivate func mayStart(with byte: UInt8) -> Bool {
        switch self {
        case DECORUM_FORMAT_GZIP: true
        case DECORUM_FORMAT_ZSTD: byte == 0x28 || (0x50...0x5F).contains(byte)
        default: false
        }
    }
}
