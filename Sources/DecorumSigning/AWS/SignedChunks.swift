#if Signing
import Crypto
import Decorum
import Foundation
import HTTPTypes

/// The coding `aws-chunked`: chunks, each with a signature that covers the one before, and a checksum in a trailer of the
/// coding.
struct SignedChunks: Sendable {
    /// S3 wants at least 8 KiB in all chunks but the last.
    static let size = 64 << 10

    let isSigned: Bool
    let checksum: AWSPayload.Checksum?
    /// The length of the content.
    let length: Int64

    /// The word in place of the hash of the content.
    var word: String {
        guard isSigned else { return "STREAMING-UNSIGNED-PAYLOAD-TRAILER" }
        return "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" + (checksum == nil ? "" : "-TRAILER")
    }

    /// The length of the content in this coding; nil if no number has it.
    var encodedLength: Int64? {
        let signature: Int64 = isSigned ? 81 : 0
        func frame(_ count: Int64) -> Int64 { Int64(String(count, radix: 16).utf8.count) + signature + count + 4 }
        let (whole, rest) = length.quotientAndRemainder(dividingBy: Int64(Self.size))
        let trailer = checksum.map { Int64($0.fieldName.utf8.count + $0.textLength + 3 + (isSigned ? 90 : 0)) } ?? 0
        let (frames, isTooLong) = whole.multipliedReportingOverflow(by: frame(Int64(Self.size)))
        let end = (rest == 0 ? 0 : frame(rest)) + frame(0) + trailer
        let (sum, sumIsTooLong) = frames.addingReportingOverflow(end)
        return isTooLong || sumIsTooLong ? nil : sum
    }

    /// Writes the fields of a request whose content has this coding.
    func announce(in fields: inout HTTPFields) {
        fields[.amzDecodedLength] = String(length)
        fields[.amzTrailer] = checksum?.fieldName
        fields[.contentEncoding] = "aws-chunked" + (fields[.contentEncoding].map { ",\($0)" } ?? "")
        // The transport announces the length of what it sends.
        fields[.contentLength] = nil
    }
}

extension Body {
    /// The content in chunks that follow the signature of the head, without its media type, since the head is signed already.
    func inChunks(of form: SignedChunks, seal: AWSSeal, seed: String) -> Body {
        let source = self
        return Body(length: form.encodedLength, replay: replay == .once ? .once : .fromStart) { _ in
            ChunkReader(reader: try await source.open(), form: form, seal: seal, previous: seed)
        }
    }
}

private struct ChunkReader: BodyReader {
    private var reader: any BodyReader
    private let form: SignedChunks
    private let seal: AWSSeal
    /// The signature of the chunk before.
    private var previous: String
    private var checksum: AWSPayload.Checksum.Running?
    private var buffer = Data()
    private var isRead = false
    private var isAtEnd = false

    init(reader: any BodyReader, form: SignedChunks, seal: AWSSeal, previous: String) {
        (self.reader, self.form, self.seal, self.previous) = (reader, form, seal, previous)
        checksum = form.checksum.map { AWSPayload.Checksum.Running($0) }
    }

    var trailers: HTTPFields? { reader.trailers }

    mutating func next() async throws -> Data? {
        while buffer.count < SignedChunks.size, !isRead {
            if let chunk = try await reader.next() {
                if buffer.isEmpty { buffer = chunk } else { buffer.append(chunk) }
            } else {
                isRead = true
            }
        }
        guard !isAtEnd else { return nil }
        let chunk = buffer.prefix(SignedChunks.size)
        buffer = buffer.dropFirst(SignedChunks.size)
        checksum?.update(chunk)
        var data = Data()
        data.reserveCapacity(chunk.count + 100)
        data.append(contentsOf: "\(String(chunk.count, radix: 16))\(try signature(of: chunk))\r\n".utf8)
        data.append(chunk)
        isAtEnd = chunk.isEmpty
        data.append(contentsOf: "\(isAtEnd ? try trailer() : "")\r\n".utf8)
        return data
    }

    private mutating func signature(of chunk: Data) throws -> String {
        guard form.isSigned else { return "" }
        let hash = SHA256.hash(data: chunk).hexText
        previous = try seal.signature("-PAYLOAD", of: "\(previous)\n\(SHA256.emptyText)\n\(hash)")
        return ";chunk-signature=\(previous)"
    }

    private func trailer() throws -> String {
        guard let checksum else { return "" }
        let line = "\(checksum.kind.fieldName):\(checksum.text)"
        guard form.isSigned else { return line + "\r\n" }
        let hash = SHA256.hash(data: Data("\(line)\n".utf8)).hexText
        return "\(line)\r\nx-amz-trailer-signature:\(try seal.signature("-TRAILER", of: "\(previous)\n\(hash)"))\r\n"
    }
}

extension AWSPayload.Checksum {
    /// The field of S3 for the checksum.
    var fieldName: String { "x-amz-checksum-\(rawValue)" }
    /// The number of characters of the value.
    fileprivate var textLength: Int { self == .sha256 ? 44 : 8 }

    // The polynomials have their bits reversed.
    private static let tables: [Self: [UInt32]] = [.crc32: table(of: 0xEDB8_8320), .crc32c: table(of: 0x82F6_3B78)]

    private static func table(of polynomial: UInt32) -> [UInt32] {
        (0..<256).map { byte in
            (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? rest >> 1 ^ polynomial : rest >> 1 }
        }
    }

    /// A checksum of the content so far.
    struct Running: Sendable {
        let kind: AWSPayload.Checksum
        private let table: [UInt32]?
        private var rest = UInt32.max
        private var hash = SHA256()

        init(_ kind: AWSPayload.Checksum) { (self.kind, table) = (kind, tables[kind]) }

        mutating func update(_ data: Data) {
            guard let table else { return hash.update(data: data) }
            for byte in data { rest = rest >> 8 ^ table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] }
        }

        /// The value in Base64.
        var text: String {
            guard table != nil else { return Data(hash.finalize()).base64EncodedString() }
            return Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ~rest >> $0) }).base64EncodedString()
        }
    }
}
#endif
