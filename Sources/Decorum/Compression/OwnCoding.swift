public import Foundation
import HTTPTypes

/// Undoes a content coding of an app's own, piece by piece; the state of one content.
///
/// An error that it throws ends the reading with ``ContentCodingError``, which names the coding and has nothing of the error.
public protocol ContentCodingDecoder {
    /// Decodes the next bytes.
    ///
    /// It is called until it returns no bytes, and again when more of the content has come. Bytes that mean nothing without
    /// those behind them may stay; where more than 64 KiB stay, the content counts as damaged.
    ///
    /// - Parameters:
    ///   - coded: The bytes to decode, of which those that are done with are removed from the front; its first index is 0.
    ///   - count: The most bytes to return, since the limits are checked after each call; more count as damaged content.
    /// - Returns: Decoded bytes; none if more coded ones are needed.
    /// - Throws: Any error when the content is damaged.
    mutating func decode(_ coded: inout Data, upTo count: Int) throws -> Data

    /// Checks that the content is complete; it throws if its end is missing.
    ///
    /// It is called after all bytes were decoded, and not for content without any byte.
    mutating func finish() throws
}

/// Applies a content coding of an app's own, piece by piece; the state of one content.
public protocol ContentCodingEncoder {
    /// Encodes the next bytes.
    ///
    /// - Parameters:
    ///   - data: The bytes to encode.
    ///   - flushing: Whether a decoder must be able to decode all that was encoded with what is returned.
    /// - Returns: Coded bytes; maybe none.
    /// - Throws: Any error, with which the request fails as ``ContentCodingError``.
    mutating func encode(_ data: Data, flushing: Bool) throws -> Data

    /// Returns the end of the coded content.
    mutating func finish() throws -> Data
}

extension ContentCoding {
    /// Creates a coding of the app's own, or one that takes the place of the system's where it is passed.
    ///
    /// ```swift
    /// let packed = ContentCoding("x-packed") { UnpackingDecoder() }
    /// let connection = SystemConnection()
    ///     .decompressing(DecompressionPolicy(codings: [packed, .gzip]))
    /// ```
    ///
    /// ``Connection/decompressing(_:)`` asks for the codings of its policy and decodes them, under the same
    /// ``ContentDecodingLimits``, and ``Connection/compressing(_:clock:)`` applies the one of its policy if it has an encoder.
    /// Over URLSession on Linux, which fails at codings that it does not know, none is asked for. A coding whose name is not a
    /// token (RFC 9110, section 8.4.1) is not available.
    ///
    /// - Parameters:
    ///   - name: The name, in any letter case.
    ///   - encoder: Makes the encoder of one content, with ``CompressionPolicy/level``; nil if it is only decoded.
    ///   - decoder: Makes the decoder of one content.
    public init(
        _ name: some StringProtocol, encoder: (@Sendable (_ level: Int?) -> any ContentCodingEncoder)? = nil,
        decoder: @escaping @Sendable () -> any ContentCodingDecoder
    ) {
        self.init(name, own: OwnCoders(makeDecoder: decoder, makeEncoder: encoder))
    }

    var hasUsableName: Bool { HTTPField.Name(name) != nil }
}

/// What makes the coders of a coding of the app's own.
struct OwnCoders: Sendable {
    let makeDecoder: @Sendable () -> any ContentCodingDecoder
    let makeEncoder: (@Sendable (Int?) -> any ContentCodingEncoder)?
}

/// Undoes one coding with a decoder of the app's, which is not trusted to keep its contract.
final class OwnDecodingStage: DecodingStage {
    private let coding: ContentCoding
    private var decoder: any ContentCodingDecoder
    private var input = Data()
    /// Whether the decoder has returned bytes, and so may hold more without new input.
    private var mayHoldMore = false
    private var isEmpty = true

    init(_ coding: ContentCoding, _ own: OwnCoders) {
        self.coding = coding
        decoder = own.makeDecoder()
    }

    func feed(_ data: Data) {
        isEmpty = isEmpty && data.isEmpty
        input.append(data)
    }

    func next() throws(ContentCodingError) -> Data? {
        while !input.isEmpty || mayHoldMore {
            if input.startIndex != 0 { input = Data(input) }
            let waiting = input.count
            let part = try? decoder.decode(&input, upTo: CodingBuffers.size)
            guard let part, part.count <= CodingBuffers.size, input.count <= waiting else { throw malformed }
            mayHoldMore = !part.isEmpty
            if mayHoldMore { return part }
            guard input.count < waiting else {
                guard waiting <= CodingBuffers.size else { throw malformed }
                return nil
            }
        }
        return nil
    }

    func finish() throws(ContentCodingError) {
        guard isEmpty || input.isEmpty && (try? decoder.finish()) != nil else {
            throw ContentCodingError(.truncated, coding)
        }
    }

    private var malformed: ContentCodingError { ContentCodingError(.malformed, coding) }
}
