#if Signing
import Crypto
import Decorum
import Foundation
import HTTPTypes

/// The chunks of content in the coding `aws-chunked`, each with a signature that covers the one before, and the checksum in a
/// trailer of that coding.
struct SignedChunks: Sendable {
    /// S3 wants at least 8 KiB in all chunks but the last.
    static let size = 64 << 10

    /// The key; nil for chunks without signatures.
    let seal: AWSSeal?
    let checksum: AWSPayload.Checksum?
    /// The signature of the head, which the first chunk follows.
    let seed: String

    /// The length of content in this coding; nil if no number has it.
    func encodedLength(of length: Int64) -> Int64? {
        let size = Int64(Self.size)
        let (whole, rest) = length.quotientAndRemainder(dividingBy: size)
        let frames = whole.multipliedReportingOverflow(by: frame(of: Self.size))
        let all = frames.partialValue.addingReportingOverflow(
            (rest == 0 ? 0 : frame(of: Int(rest)))
                + Int64(lastLine.utf8.count + trailer(signatureOf: "", text: "").count))
        guard !frames.overflow, !all.overflow else { return nil }
        return all.partialValue + Int64(checksum?.textLength ?? 0) + (isSignedTrailer ? 64 : 0)
    }

    private var isSignedTrailer: Bool { seal != nil && checksum != nil }
    private var signatureMark: String { seal == nil ? "" : ";chunk-signature=" }
    /// The line before the trailer, with a signature of the right length.
    private var lastLine: String { "0\(signatureMark)\(seal == nil ? "" : seed)\r\n" }

    private func frame(of count: Int) -> Int64 {
        Int64(String(count, radix: 16).utf8.count + signatureMark.utf8.count + (seal == nil ? 0 : 64) + count + 4)
    }

    /// Encodes a chunk, the last of which is empty and has no line of content.
    func encode(_ chunk: Data, after previous: inout String) throws -> Data {
        if let seal {
            let text =
                "\(seal.algorithm)-PAYLOAD\n\(seal.date.text)\n\(seal.scope)\n\(previous)\n"
                + "\(SHA256.hash(data: Data()).hexText)\n\(SHA256.hash(data: chunk).hexText)"
            previous = try seal.signature(of: text)
        }
        var data = Data()
        data.reserveCapacity(chunk.count + 100)
        let signature = seal == nil ? "" : previous
        data.append(contentsOf: "\(String(chunk.count, radix: 16))\(signatureMark)\(signature)\r\n".utf8)
        data.append(chunk)
        if !chunk.isEmpty { data.append(contentsOf: "\r\n".utf8) }
        return data
    }

    /// The trailer, which ends the content.
    func trailer(of checksum: AWSPayload.Checksum.Running?, after previous: String) throws -> Data {
        guard let name = self.checksum?.fieldName, let text = checksum?.text else { return Data("\r\n".utf8) }
        guard let seal else { return trailer(signatureOf: "", text: text) }
        let hash = SHA256.hash(data: Data("\(name):\(text)\n".utf8)).hexText
        let signature = try seal.signature(
            of: "\(seal.algorithm)-TRAILER\n\(seal.date.text)\n\(seal.scope)\n\(previous)\n\(hash)")
        return trailer(signatureOf: signature, text: text)
    }

    private func trailer(signatureOf signature: String, text: String) -> Data {
        guard let name = checksum?.fieldName else { return Data("\r\n".utf8) }
        let last = seal == nil ? "" : "x-amz-trailer-signature:\(signature)\r\n"
        return Data("\(name):\(text)\r\n\(last)\r\n".utf8)
    }
}

extension Body {
    /// The content in chunks, without its media type, since the head is signed already.
    func inChunks(of form: SignedChunks, length: Int64) -> Body {
        let source = self
        return Body(length: form.encodedLength(of: length), replay: replay == .once ? .once : .fromStart) { _ in
            ChunkReader(reader: try await source.open(), form: form)
        }
    }
}

private struct ChunkReader: BodyReader {
    var reader: any BodyReader
    let form: SignedChunks
    private var previous: String
    private var checksum: AWSPayload.Checksum.Running?
    private var buffer = Data()
    private var isRead = false
    private var isAtEnd = false

    init(reader: any BodyReader, form: SignedChunks) {
        self.reader = reader
        self.form = form
        previous = form.seed
        checksum = form.checksum.map(AWSPayload.Checksum.Running.init)
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
        var data = try form.encode(chunk, after: &previous)
        if chunk.isEmpty {
            isAtEnd = true
            data.append(try form.trailer(of: checksum, after: previous))
        }
        return data
    }
}

extension AWSPayload.Checksum {
    /// The field of S3 for the checksum.
    var fieldName: String { "x-amz-checksum-\(rawValue)" }
    /// The number of characters of the value.
    fileprivate var textLength: Int { self == .sha256 ? 44 : 8 }

    /// A checksum of the content so far.
    enum Running: Sendable {
        case sha256(SHA256)
        case crc(UInt32, table: [UInt32])

        init(_ checksum: AWSPayload.Checksum) {
            switch checksum {
            case .sha256: self = .sha256(SHA256())
            case .crc32: self = .crc(.max, table: Self.crc32)
            case .crc32c: self = .crc(.max, table: Self.crc32c)
            }
        }

        // The polynomials with their bits reversed.
        private static let crc32 = table(of: 0xEDB8_8320)
        private static let crc32c = table(of: 0x82F6_3B78)

        private static func table(of polynomial: UInt32) -> [UInt32] {
            (0..<256).map { byte in
                (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? rest >> 1 ^ polynomial : rest >> 1 }
            }
        }

        mutating func update(_ data: Data) {
            switch self {
            case .sha256(var hash):
                hash.update(data: data)
                self = .sha256(hash)
            case .crc(let start, let table):
                var rest = start
                for byte in data { rest = rest >> 8 ^ table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] }
                self = .crc(rest, table: table)
            }
        }

        /// The value in Base64.
        var text: String {
            switch self {
            case .sha256(let hash): return Data(hash.finalize()).base64EncodedString()
            case .crc(let rest, _):
                let value = ~rest
                let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
                return Data(bytes).base64EncodedString()
            }
        }
    }
}
#endif
