import DecorumCompression
import Foundation
import Synchronization

/// Applies a content coding piece by piece.
///
/// `@unchecked Sendable`, since its state is used under a lock.
@safe final class ContentEncoder: @unchecked Sendable {
    /// What a decoder gets of everything that was encoded.
    enum Flush: Sendable {
        /// What does not make the result larger.
        case none
        /// All of it.
        case all
        /// All of it, and the end of the content.
        case end

        fileprivate var mode: decorum_flush {
            switch self {
            case .none: DECORUM_FLUSH_NONE
            case .all: DECORUM_FLUSH_ALL
            case .end: DECORUM_FLUSH_END
            }
        }
    }

    private let coding: ContentCoding
    private let buffers = CodingBuffers()
    /// The encoder of the system's library; nil with one of the app's own.
    private let encoder: OpaquePointer?
    private var own: (any ContentCodingEncoder)?
    private let lock = Mutex(())

    /// Creates an encoder with a level as in ``CompressionPolicy/level``; nil if the coding is not available.
    init?(_ coding: ContentCoding, level: Int? = nil) {
        self.coding = coding
        own = coding.own?.makeEncoder?(level)
        guard own == nil else {
            unsafe encoder = nil
            return
        }
        guard coding.own == nil, let format = coding.format,
            let encoder = unsafe decorum_encoder_create(format, format.level(level))
        else { return nil }
        unsafe self.encoder = encoder
    }

    deinit {
        if let encoder = unsafe encoder { unsafe decorum_encoder_free(encoder) }
    }

    /// Encodes a part of the content; the result may be empty.
    func encode(_ data: Data, flush: Flush) throws(ContentCodingError) -> Data {
        try lock.withLock { _ throws(ContentCodingError) in
            if let encoder = unsafe encoder { return try unsafe next(data, flush, encoder) }
            do {
                let coded = try own?.encode(data, flushing: flush != .none) ?? Data()
                return try flush == .end ? coded + (own?.finish() ?? Data()) : coded
            } catch {
                throw ContentCodingError(.unencodable, coding)
            }
        }
    }

    private func next(
        _ data: Data, _ flush: Flush, _ encoder: OpaquePointer
    ) throws(ContentCodingError) -> Data {
        buffers.feed(data)
        var result = Data()
        var mayHoldMore = true
        while mayHoldMore {
            let (step, _) = unsafe buffers.run { unsafe decorum_encode(encoder, &$0, flush.mode) }
            guard step == DECORUM_STEP_CONTINUES || step == DECORUM_STEP_ENDED else {
                throw ContentCodingError(.outOfMemory, coding)
            }
            // A coder that is asked again after its end would begin another, empty frame.
            mayHoldMore = step != DECORUM_STEP_ENDED && (buffers.isFull || buffers.hasInput)
            if let part = buffers.takeOutput() { result.append(part) }
        }
        return result
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

/// The bytes that wait for one coder, and room for the bytes that come out of it.
@safe final class CodingBuffers {
    /// The most bytes that come out at a time: 64 KiB.
    static let size = 64 << 10

    private var input = Data()
    private var filled = 0
    private let output: UnsafeMutablePointer<UInt8>

    init() {
        unsafe output = .allocate(capacity: Self.size)
    }

    deinit {
        unsafe output.deallocate()
    }

    var hasInput: Bool { !input.isEmpty }
    var isFull: Bool { filled == Self.size }
    var first: UInt8? { input.first }
    /// The first two bytes; nil while fewer wait.
    var firstTwo: (UInt8, UInt8)? {
        input.count > 1 ? (input[input.startIndex], input[input.startIndex + 1]) : nil
    }

    /// Whether zeros, blanks and line breaks alone wait, with which some servers pad gzip.
    var hasOnlyPadding: Bool { input.allSatisfy { [0, 0x0A, 0x0D, 0x20].contains($0) } }

    func discardInput() {
        input = Data()
    }

    func feed(_ data: Data) {
        if input.isEmpty { input = data } else { input.append(data) }
    }

    /// Runs a coder once; returns its result, and whether it took or gave anything.
    func run(_ coder: (inout decorum_buffers) -> decorum_step) -> (step: decorum_step, moved: Bool) {
        let count = input.count
        let (step, taken, given) = unsafe input.withUnsafeBytes { bytes in
            // Without input, an address that the libraries do not read.
            var buffers = unsafe decorum_buffers(
                input: bytes.bindMemory(to: UInt8.self).baseAddress ?? UnsafePointer(output), input_count: count,
                output: output + filled, output_count: Self.size - filled)
            let step = unsafe coder(&buffers)
            return unsafe (step, count - buffers.input_count, Self.size - filled - buffers.output_count)
        }
        input = taken == count ? Data() : input.dropFirst(taken)
        filled += given
        return (step, taken > 0 || given > 0)
    }

    /// Takes the bytes that have come out; nil without any.
    func takeOutput() -> Data? {
        guard filled > 0 else { return nil }
        defer { filled = 0 }
        return unsafe Data(bytes: output, count: filled)
    }
}
