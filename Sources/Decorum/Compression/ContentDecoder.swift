import DecorumCompression
public import Foundation
import Synchronization

/// The bounds of decoding, against content that is a few bytes and decodes into gigabytes.
public struct ContentDecodingLimits: Sendable, Hashable {
    /// How many times as long as the coded content the decoded content may be; 200 by default.
    ///
    /// It is looked at beyond the first MiB of decoded content. With several codings, the result of each counts. gzip
    /// reaches 1032 for content that repeats one byte, text rarely more than 20.
    public var maximumRatio: Int
    /// The largest number of decoded bytes; nil, the default, for no limit of its own, since each reading has one.
    public var maximumLength: Int64?
    /// The largest number of codings of one content; 3 by default.
    public var maximumCodings: Int

    /// Creates limits with the defaults of their properties.
    public init(maximumRatio: Int = 200, maximumLength: Int64? = nil, maximumCodings: Int = 3) {
        (self.maximumRatio, self.maximumLength, self.maximumCodings) = (maximumRatio, maximumLength, maximumCodings)
    }

    /// The default limits.
    public static let standard = ContentDecodingLimits()

    /// The length of decoded content up to which its ratio does not matter: 1 MiB.
    static let freeLength = 1 << 20
}

/// Undoes content codings piece by piece, in memory that does not grow with the content.
///
/// ```swift
/// let decoder = try ContentDecoder([.gzip])
/// while let chunk = try file.read(upToCount: 1 << 16), !chunk.isEmpty {
///     decoder.feed(chunk)
///     while let part = try decoder.next() { text.append(part) }
/// }
/// try decoder.finish()
/// ```
///
/// Several members of gzip or frames of Zstandard count as one content. `deflate` may be with or without the header of zlib.
/// No bytes at all decode to no bytes, since many servers give an empty body a coding. Anything else that ends too early is
/// an error. Bytes behind the end are one too, except zeros, blanks and line breaks behind gzip, with which some servers pad.
///
/// After an error, each call throws it again. One decoder is for one content; it may be used by one task after another.
///
/// See RFC 9110, section 8.4.
public final class ContentDecoder: Sendable {
    private let state: Mutex<ContentDecoding>

    /// Creates a decoder of codings in the order in which they were applied, as `Content-Encoding` names them.
    ///
    /// - Throws: ``ContentCodingError`` when a coding is not available or there are too many of them.
    public init(
        _ codings: [ContentCoding], limits: ContentDecodingLimits = .standard
    ) throws(ContentCodingError) {
        state = Mutex(try ContentDecoding(codings, limits: limits))
    }

    /// Adds the next bytes of the coded content.
    public func feed(_ data: Data) {
        state.withLock { $0.feed(data) }
    }

    /// Decodes a part of the content that was fed.
    ///
    /// - Returns: At most 64 KiB, and at least a byte; nil when more input is needed, or at the end.
    /// - Throws: ``ContentCodingError`` when the content is damaged or exceeds a limit.
    public func next() throws(ContentCodingError) -> Data? {
        try state.withLock { state throws(ContentCodingError) in try state.next() }
    }

    /// Checks that the content is complete; call it when no more input comes and ``next()`` has returned nil.
    ///
    /// - Throws: ``ContentCodingError`` when the end of the content is missing.
    public func finish() throws(ContentCodingError) {
        try state.withLock { state throws(ContentCodingError) in try state.finish() }
    }

    /// The length of what was fed, and of what has come out.
    var lengths: (coded: Int64, decoded: Int64) { state.withLock { $0.progress } }

    /// Decodes content that is in memory as a whole; set ``ContentDecodingLimits/maximumLength`` for content of others.
    ///
    /// - Throws: ``ContentCodingError`` when the content cannot be decoded or exceeds a limit.
    public static func decode(
        _ data: Data, from codings: [ContentCoding], limits: ContentDecodingLimits = .standard
    ) throws(ContentCodingError) -> Data {
        let decoder = try ContentDecoder(codings, limits: limits)
        decoder.feed(data)
        var content = Data()
        while let part = try decoder.next() { content.append(part) }
        try decoder.finish()
        return content
    }
}

/// The stages of one decoder, outermost coding first, and their bounds.
private struct ContentDecoding: ~Copyable {
    private let stages: [any DecodingStage]
    /// The content where there is no coding to undo.
    private var plain = Data()
    private let limits: ContentDecodingLimits
    private var inputLength: Int64 = 0
    /// The lengths of the results of each stage.
    private var lengths: [Int64]
    private var failure: ContentCodingError?

    init(_ codings: [ContentCoding], limits: ContentDecodingLimits) throws(ContentCodingError) {
        guard codings.count <= limits.maximumCodings else {
            throw ContentCodingError(.maximumCodings, "The content has \(codings.count) codings; raise")
        }
        var stages: [any DecodingStage] = []
        // The coding that was applied last is undone first.
        for coding in codings.reversed() {
            guard coding.isDecodable else { throw ContentCodingError(.unavailable, coding) }
            if let own = coding.own {
                stages.append(OwnDecodingStage(coding, own))
            } else {
                stages.append(try SystemDecodingStage(coding))
            }
        }
        self.stages = stages
        self.limits = limits
        lengths = [Int64](repeating: 0, count: stages.count)
    }

    var progress: (coded: Int64, decoded: Int64) { (inputLength, lengths.last ?? inputLength) }

    mutating func feed(_ data: Data) {
        guard failure == nil else { return }
        inputLength += Int64(data.count)
        if let stage = stages.first { stage.feed(data) } else { plain.append(data) }
    }

    mutating func next() throws(ContentCodingError) -> Data? {
        try keepingFailure { state throws(ContentCodingError) in try state.pull(from: state.stages.count - 1) }
    }

    mutating func finish() throws(ContentCodingError) {
        try keepingFailure { state throws(ContentCodingError) in
            for stage in state.stages { try stage.finish() }
        }
    }

    private mutating func keepingFailure<Result>(
        _ work: (inout Self) throws(ContentCodingError) -> Result
    ) throws(ContentCodingError) -> Result {
        if let failure { throw failure }
        do {
            return try work(&self)
        } catch {
            failure = error
            throw error
        }
    }

    /// Decodes a part by a stage, which gets its input from the stage before it.
    private mutating func pull(from index: Int) throws(ContentCodingError) -> Data? {
        guard stages.indices.contains(index) else { return takePlain() }
        while true {
            if let part = try stages[index].next() {
                lengths[index] += Int64(part.count)
                try checkLimits(at: index)
                return part
            }
            guard index > 0, let input = try pull(from: index - 1) else { return nil }
            stages[index].feed(input)
        }
    }

    private mutating func takePlain() -> Data? {
        guard !plain.isEmpty else { return nil }
        defer { plain = plain.dropFirst(CodingBuffers.size) }
        return plain.prefix(CodingBuffers.size)
    }

    private func checkLimits(at index: Int) throws(ContentCodingError) {
        let length = lengths[index]
        if index == stages.count - 1, let limit = limits.maximumLength, length > limit {
            throw ContentCodingError(.maximumLength, "The decoded content has more than \(limit) bytes; raise")
        }
        let (allowed, isHuge) = inputLength.multipliedReportingOverflow(by: Int64(limits.maximumRatio))
        guard isHuge || length <= max(allowed, Int64(ContentDecodingLimits.freeLength)) else {
            throw ContentCodingError(
                .maximumRatio, "The decoded content is more than \(limits.maximumRatio) times as long as it came; raise"
            )
        }
    }
}

/// Undoes one coding, piece by piece.
protocol DecodingStage: AnyObject {
    func feed(_ data: Data)
    /// Decodes up to 64 KiB; nil if more input is needed.
    func next() throws(ContentCodingError) -> Data?
    /// Checks that the content is complete, once no more input comes and all output was taken.
    func finish() throws(ContentCodingError)
}

/// Undoes one coding with a library of the system.
@safe private final class SystemDecodingStage: DecodingStage {
    private let coding: ContentCoding
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
        guard let format = coding.format else { throw ContentCodingError(.unavailable, coding) }
        self.coding = coding
        self.format = format
    }

    deinit {
        if let decoder = unsafe decoder { unsafe decorum_decoder_free(decoder) }
    }

    func feed(_ data: Data) {
        buffers.feed(data)
    }

    func next() throws(ContentCodingError) -> Data? {
        while !buffers.isFull, buffers.hasInput || mayHoldMore {
            guard try prepare() else { break }
            try advance()
        }
        return buffers.takeOutput()
    }

    func finish() throws(ContentCodingError) {
        guard isComplete, !buffers.hasInput else { throw ContentCodingError(.truncated, coding) }
    }

    private func advance() throws(ContentCodingError) {
        guard let decoder = unsafe decoder else { return }
        isComplete = false
        let (step, moved) = unsafe buffers.run { unsafe decorum_decode(decoder, &$0) }
        mayHoldMore = buffers.isFull
        switch step {
        case DECORUM_STEP_CONTINUES:
            // A decoder that takes nothing of its input never will.
            guard moved || !buffers.hasInput else { throw ContentCodingError(.malformed, coding) }
        case DECORUM_STEP_ENDED:
            isComplete = true
            mayHoldMore = false
        case DECORUM_STEP_OUT_OF_MEMORY: throw ContentCodingError(.outOfMemory, coding)
        case DECORUM_STEP_LARGE_WINDOW: throw ContentCodingError(.largeWindow, coding)
        default: throw ContentCodingError(.malformed, coding)
        }
    }

    /// Makes the decoder ready for the next byte; returns false where it takes another byte to know the format.
    private func prepare() throws(ContentCodingError) -> Bool {
        if let decoder = unsafe decoder {
            guard isComplete else { return true }
            if format == DECORUM_FORMAT_GZIP, isPadded || buffers.first != Self.gzipStart {
                // Other bytes may belong to a damaged member, whose content must not be lost in silence.
                guard buffers.hasOnlyPadding else { throw ContentCodingError(.trailingData, coding) }
                isPadded = true
                buffers.discardInput()
                return false
            }
            // More members of gzip (RFC 1952, section 2.2) and frames of Zstandard (RFC 8878, section 3.1) may follow.
            guard let first = buffers.first, mayStart(with: first), unsafe decorum_decoder_restart(decoder) != 0
            else { throw ContentCodingError(.trailingData, coding) }
            return true
        }
        var format = format
        if format == DECORUM_FORMAT_ZLIB {
            guard let start = buffers.firstTwo else { return false }
            if !Self.isZlib(start) { format = DECORUM_FORMAT_DEFLATE }
        }
        unsafe decoder = decorum_decoder_create(format)
        guard unsafe decoder != nil else { throw ContentCodingError(.outOfMemory, coding) }
        return true
    }

    private static let gzipStart: UInt8 = 0x1F

    /// Whether a byte may be the first of another member or frame behind the first one.
    private func mayStart(with byte: UInt8) -> Bool {
        format == DECORUM_FORMAT_GZIP
            || format == DECORUM_FORMAT_ZSTD && (byte == 0x28 || (0x50...0x5F).contains(byte))
    }

    /// Whether two bytes begin a stream of zlib (RFC 1950, section 2.2): the method is 8, and the bytes are a multiple of 31.
    ///
    /// No encoder begins raw data like this: a first byte with these four bits is that of a stored block with bits in its
    /// padding.
    private static func isZlib(_ start: (UInt8, UInt8)) -> Bool {
        start.0 & 0x0F == 8 && start.0 >> 4 <= 7 && (UInt(start.0) << 8 | UInt(start.1)).isMultiple(of: 31)
    }
}
