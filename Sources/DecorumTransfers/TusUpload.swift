import Decorum
public import Foundation
import HTTPTypes

/// The protocol tus 1.0 with its extensions creation, termination, checksum and expiration.
///
/// ```swift
/// let checksum = TusUpload.Checksum("sha256") { Data(SHA256.hash(data: $0)) }
/// let upload = TusUpload(metadata: ["filename": "film.mp4"], checksum: checksum)
/// let response = try await connection.upload(Body(contentsOf: film), to: request, by: upload)
/// ```
///
/// The content goes in one `PATCH`, or with a checksum or a size of parts, in parts. The result is the answer to the last part,
/// or the response that tells of the complete upload. See tus.io/protocols/resumable-upload.
public struct TusUpload: UploadProtocol {
    /// A checksum of each part, by which the server drops a part that has changed on the way.
    public struct Checksum: Sendable {
        let algorithm: String
        let digest: @Sendable (Data) throws -> Data

        /// Creates a checksum by the name of its algorithm, such as `sha1`, which every server with the extension knows.
        public init(_ algorithm: String, _ digest: @escaping @Sendable (_ part: Data) throws -> Data) {
            (self.algorithm, self.digest) = (algorithm, digest)
        }
    }

    /// The name of the protocol.
    public let name = "tus"
    let metadata: [String: String]
    let partSize: Int64?
    let checksum: Checksum?

    /// Creates the protocol; the names in `metadata`, such as `filename`, are in ASCII, without blanks and commas.
    ///
    /// The `partSize` is the longest part, in bytes; nil stands for one request, or with a checksum for parts of 4 MiB.
    public init(metadata: [String: String] = [:], partSize: Int64? = nil, checksum: Checksum? = nil) {
        (self.metadata, self.checksum) = (metadata, checksum)
        self.partSize = partSize.map { max(1, $0) } ?? (checksum == nil ? nil : 4 << 20)
    }

    /// Creates the upload.
    public func create(_ upload: inout Upload) async throws -> UploadStep {
        guard metadata.keys.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x2C } }) else {
            throw InvalidRequestError(
                .invalidField, "A name of the metadata is empty, or has a blank, a comma or a letter outside of ASCII.")
        }
        // An empty value stands without the blank before it.
        let pairs = metadata.sorted { $0.key < $1.key }.map { name, value in
            value.isEmpty ? name : "\(name) \(Data(value.utf8).base64EncodedString())"
        }
        var request = upload.request
        request.head.headerFields[.tusResumable] = "1.0.0"
        request.head.headerFields[.uploadLength] = "\(upload.length)"
        if !pairs.isEmpty { request.head.headerFields[.uploadMetadata] = pairs.joined(separator: ",") }
        let response = try await upload.send(request)
        guard response.status.kind == .successful else { throw upload.refusal(response) }
        try upload.locate(response.head.headerFields[.location], in: response)
        noteExpiry(of: response, in: &upload)
        guard upload.length > 0 else { return .finished(response) }
        try await response.body.discard()
        return .stored(0)
    }

    /// Asks for the offset; the upload is complete if all is stored.
    public func offset(of upload: inout Upload) async throws -> UploadStep {
        let (response, offset) = try await upload.ask(with: [.tusResumable: "1.0.0"])
        noteExpiry(of: response, in: &upload)
        return offset == upload.length ? .finished(response) : .stored(offset)
    }

    /// Appends the rest, or a part.
    public func append(from offset: Int64, to upload: inout Upload) async throws -> UploadStep {
        let bounds = offset..<(offset + min(upload.length - offset, partSize ?? .max))
        var fields: HTTPFields = [
            .tusResumable: "1.0.0", .uploadOffset: "\(offset)", .contentType: "application/offset+octet-stream",
        ]
        var content = upload.content(bounds)
        if let checksum {
            let part = try await content.data(upTo: Int(clamping: bounds.upperBound - offset))
            fields[.uploadChecksum] = "\(checksum.algorithm) \(try checksum.digest(part).base64EncodedString())"
            content = Body(part)
        }
        let response = try await upload.send(upload.nextRequest(.patch, fields: fields, body: content))
        guard response.status.kind == .successful else { throw upload.refusal(response) }
        noteExpiry(of: response, in: &upload)
        guard let stored = response.head.headerFields.number(.uploadOffset) else { throw UploadError(.invalidAnswer) }
        if stored == upload.length, upload.run.reach == stored { return .finished(response) }
        try await response.body.discard()
        return .stored(stored)
    }

    /// Removes the upload from the server, by the extension termination.
    public func cancel(_ upload: inout Upload) async throws {
        try await upload.remove(by: upload.nextRequest(.delete, fields: [.tusResumable: "1.0.0"]))
    }

    private func noteExpiry(of response: Response, in upload: inout Upload) {
        guard let text = response.head.headerFields[.uploadExpires] else { return }
        upload.ticket.expiry = HTTPDate(text, at: upload.work.clock.date)?.date
    }
}
