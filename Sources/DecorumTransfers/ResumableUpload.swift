import Decorum
import Foundation
import HTTPTypes

/// The resumable upload of the IETF (draft-ietf-httpbis-resumable-upload; the sections have the numbers of version 12).
///
/// The creation goes without content (`Upload-Complete: ?0`); a server whose answer has no `Location` does not support the
/// protocol, and gets none. Then all of the content goes in one `PATCH`, or in parts that `Upload-Limit` allows. The result is
/// the answer to the last part, whatever its status; if it was lost, the response that tells of the complete upload.
public struct ResumableUpload: UploadProtocol {
    /// The name of the protocol.
    public let name = "resumable"
    let interopVersion: Int?

    /// Creates the protocol with the version of a draft that a server needs, from 5 on; nil stands for the final protocol.
    ///
    /// It is 6 from draft 04 on, 7 from 06 on, 8 from 09 on, 9 from 12 on.
    public init(interopVersion: Int? = nil) { self.interopVersion = interopVersion }

    /// Asks for an upload resource, without content (section 4.2).
    public func create(_ upload: inout Upload) async throws -> UploadStep {
        var request = upload.request
        for field in fields([.uploadComplete: "?0", .uploadLength: "\(upload.length)"]) {
            request.head.headerFields[field.name] = field.value
        }
        let response = try await upload.send(request)
        let fields = response.head.headerFields
        if fields.flag(.uploadComplete) == true { return .finished(response) }
        guard response.status.kind == .successful else { throw upload.refusal(response) }
        // An interim response counts if it speaks the same version (section 5).
        let interim = response.metadata.informational.map(\.headerFields).last { fields in
            fields.contains(.location) && fields.number(.interopVersion) == interopVersion.map(Int64.init)
        }
        try upload.locate(fields[.location] ?? interim?[.location], in: response)
        try await adoptLimits(of: response, in: &upload)
        try await response.body.discard()
        return .stored(0)
    }

    /// Asks for the offset (section 4.3); an upload of which the server does not say that it is complete is to be completed.
    public func offset(of upload: inout Upload) async throws -> UploadStep {
        try await ask(&upload, isComplete: false)
    }

    private func ask(_ upload: inout Upload, isComplete: Bool) async throws -> UploadStep {
        let (response, offset) = try await upload.ask(with: fields())
        try await adoptLimits(of: response, in: &upload)
        guard isComplete || response.head.headerFields.flag(.uploadComplete) == true else { return .stored(offset) }
        guard offset == upload.length else { throw UploadError(.invalidAnswer) }
        return .finished(response)
    }

    /// Appends the rest, or as much of it as the server takes at once; none of it completes the upload (section 4.4).
    public func append(from offset: Int64, to upload: inout Upload) async throws -> UploadStep {
        let end = offset + min(upload.length - offset, mostBytes(of: upload))
        let request = try upload.nextRequest(
            .patch,
            fields: fields([
                .uploadOffset: "\(offset)", .uploadComplete: end == upload.length ? "?1" : "?0",
                .contentType: "application/partial-upload",
            ]), body: upload.content(offset..<end))
        let response = try await upload.send(request)
        let fields = response.head.headerFields
        switch (fields.flag(.uploadComplete), response.status.code) {
        // The response comes from the resource that was asked for the upload, whatever its status.
        case (true, _): return .finished(response)
        // A server that answers before it was sent the content has not stored it.
        case (nil, 200...299) where upload.run.reach < end: return try await self.offset(of: &upload)
        case (nil, 200...299) where end == upload.length: return .finished(response)
        case (_, 200...299):
            try await adoptLimits(of: response, in: &upload)
            try await response.body.discard()
            return .stored(fields.number(.uploadOffset) ?? end)
        case (_, 409):
            // Without the offset, it is asked for.
            guard let offset = fields.number(.uploadOffset) else { throw upload.refusal(response) }
            return .stored(offset)
        case (_, 413):
            try await adoptLimits(of: response, in: &upload)
            guard mostBytes(of: upload) < end - offset else { throw upload.refusal(response) }
            return .stored(offset)
        case (_, 400) where fields[.contentType]?.hasPrefix("application/problem+json") == true:
            struct Problem: Decodable { let type: String }
            switch try? await response.decode(Problem.self, upTo: 65_536).type.split(separator: "#").last {
            case "completed-upload": return try await ask(&upload, isComplete: true)
            case "inconsistent-upload-length": throw UploadError(.invalidAnswer)
            default: throw upload.refusal(response)
            }
        default: throw upload.refusal(response)
        }
    }

    /// Removes the upload resource (section 4.5).
    public func cancel(_ upload: inout Upload) async throws {
        try await upload.remove(by: upload.nextRequest(.delete, fields: fields()))
    }

    private func mostBytes(of upload: Upload) -> Int64 { upload.ticket.facts["most"].flatMap { Int64($0) } ?? .max }

    private func fields(_ fields: HTTPFields = [:]) -> HTTPFields {
        var fields = fields
        if let interopVersion { fields[.interopVersion] = "\(interopVersion)" }
        return fields
    }

    /// Takes the limits that a response tells; the whole field counts as absent if a member has a wrong type (section 4.1.4).
    private func adoptLimits(of response: Response, in upload: inout Upload) async throws {
        guard let limits = try? StructuredDictionary(.uploadLimit, in: response.head.headerFields) else { return }
        var numbers: [String: Int64] = [:]
        for name in ["max-size", "min-size", "max-append-size", "max-age", "expires"] {
            guard let member = limits[name] else { continue }
            guard let number = member.item?.value.integer, number >= 0 else { return }
            numbers[name] = number
        }
        guard numbers["max-size"] ?? .max >= upload.length, numbers["min-size"] ?? 0 <= upload.length else {
            try? await cancel(&upload)
            throw UploadError(.sizeRefused)
        }
        if let most = numbers["max-append-size"], most > 0 { upload.ticket.facts["most"] = "\(most)" }
        // Before draft 06, `expires` stood for what is `max-age` now.
        if let age = numbers["max-age"] ?? numbers["expires"] {
            upload.ticket.expiry = upload.work.clock.date.addingTimeInterval(TimeInterval(min(age, 1 << 40)))
        }
    }
}

extension HTTPFields {
    /// A number; nil for anything else, as if the field were absent.
    func number(_ name: HTTPField.Name) -> Int64? { (try? StructuredItem(name, in: self))?.value.integer }

    fileprivate func flag(_ name: HTTPField.Name) -> Bool? { (try? StructuredItem(name, in: self))?.value.boolean }
}

// Names without characters that a name cannot have.
// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    static let uploadOffset = HTTPField.Name("Upload-Offset")!
    static let uploadLength = HTTPField.Name("Upload-Length")!
    fileprivate static let uploadComplete = HTTPField.Name("Upload-Complete")!
    fileprivate static let uploadLimit = HTTPField.Name("Upload-Limit")!
    fileprivate static let interopVersion = HTTPField.Name("Upload-Draft-Interop-Version")!
    static let tusResumable = HTTPField.Name("Tus-Resumable")!
    static let uploadMetadata = HTTPField.Name("Upload-Metadata")!
    static let uploadChecksum = HTTPField.Name("Upload-Checksum")!
    static let uploadExpires = HTTPField.Name("Upload-Expires")!
}
