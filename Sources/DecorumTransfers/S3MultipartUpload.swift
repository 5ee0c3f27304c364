import Decorum
import Foundation
import HTTPTypes

/// The multipart upload of Amazon S3, and of stores that speak its protocol.
///
/// The request is the one by which the object would be put at once; the connection signs each request, as with `SigV4` of
/// `DecorumSigning`. If the answer that completes the object was lost, the error is ``UploadError/Reason/outcomeUnknown``. A
/// multipart upload that never ends costs money until it is removed: see `discardUpload(of:to:by:policy:)`.
public struct S3MultipartUpload: UploadProtocol {
    /// The name of the protocol.
    public let name = "s3"
    let partSize: Int64

    /// Creates the protocol with the size of each part but the last, in bytes: at least 5 MiB and at most 5 GiB, to which other
    /// numbers are changed; larger where the content would have more than 10,000 parts.
    public init(partSize: Int64 = 8 << 20) { self.partSize = min(max(partSize, 5 << 20), 5 << 30) }

    /// Creates the upload (CreateMultipartUpload).
    public func create(_ upload: inout Upload) async throws -> UploadStep {
        // Whole MiB, so that at most 10,000 parts hold the content.
        let size = max(partSize, ((upload.length / 10_000) >> 20 + 1) << 20)
        guard size <= 5 << 30 else { throw UploadError(.sizeRefused) }
        var request = upload.request
        (request.head.method, request.head.path) = (.post, Self.path(of: request, "uploads"))
        let (answer, _) = try await read(upload.send(request), of: upload, named: "InitiateMultipartUpload")
        guard let id = answer.elements("UploadId").first, !id.isEmpty else { throw UploadError(.invalidAnswer) }
        upload.ticket.facts = ["id": String(id), "size": "\(size)"]
        upload.parts = []
        return .stored(0)
    }

    /// Asks for the parts that the server has (ListParts); those count that follow each other without a gap.
    public func offset(of upload: inout Upload) async throws -> UploadStep {
        upload.parts = []
        var (stored, marker): (Int64, Int64) = (0, 0)
        while true {
            let response = try await upload.send(request(.get, of: upload, "part-number-marker=\(marker)&"))
            let (answer, _) = try await read(response, of: upload, named: "ListParts")
            for part in answer.elements("Part") {
                let (number, length) = (Int64(upload.parts.count + 1), min(size(of: upload), upload.length - stored))
                guard part.number("PartNumber") == number, part.number("Size") == length else { continue }
                guard let tag = part.elements("ETag").first else { throw UploadError(.invalidAnswer) }
                upload.parts.append(String(tag))
                stored += length
            }
            guard answer.elements("IsTruncated") == ["true"] else { return .stored(stored) }
            // There are 10,000 parts at most.
            guard let next = answer.number("NextPartNumberMarker"), next > marker, next < 10_000 else {
                throw UploadError(.invalidAnswer)
            }
            marker = next
        }
    }

    /// Sends the next part (UploadPart), or after the last one makes the object of them (CompleteMultipartUpload).
    public func append(from offset: Int64, to upload: inout Upload) async throws -> UploadStep {
        // An object without content has one part.
        if offset < upload.length || upload.parts.isEmpty {
            let end = offset + min(size(of: upload), upload.length - offset)
            let part = "partNumber=\(upload.parts.count + 1)&"
            let response = try await upload.send(request(.put, of: upload, part, body: upload.content(offset..<end)))
            guard response.status.kind == .successful else { throw upload.refusal(response) }
            guard let tag = response.head.headerFields[.eTag], !tag.isEmpty else { throw UploadError(.invalidAnswer) }
            try await response.body.discard()
            upload.parts.append(tag.replacing("&", with: "&amp;").replacing("<", with: "&lt;"))
            if end > 0 { return .stored(end) }
        }
        let parts = upload.parts.enumerated().map { index, tag in
            "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(tag)</ETag></Part>"
        }
        let text = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        let request = try request(.post, of: upload, "", body: Body(text).typed(as: "application/xml"))
        return .finished(try await read(upload.send(request), of: upload, named: "CompleteMultipartUpload").response)
    }

    /// Removes the parts (AbortMultipartUpload).
    public func cancel(_ upload: inout Upload) async throws {
        try await upload.remove(by: request(.delete, of: upload, ""))
    }

    private func size(of upload: Upload) -> Int64 {
        let size = upload.ticket.facts["size"].flatMap { Int64($0) } ?? 0
        return size > 0 ? size : partSize
    }

    private static func path(of request: Request, _ query: String) -> String {
        let path = request.head.path ?? "/"
        return path + (path.contains("?") ? "&" : "?") + query
    }

    private func request(
        _ method: HTTPRequest.Method, of upload: Upload, _ query: String, body: Body = .empty
    ) throws -> Request {
        var request = try upload.nextRequest(method, body: body)
        request.head.path = Self.path(
            of: request, "\(query)uploadId=\(PercentCoding.encode(upload.ticket.facts["id"] ?? ""))")
        // The identifier is a right to change the upload.
        request.options.secretQueryItems.insert("uploadId")
        // The other fields of the store describe the object, and belong to its creation.
        let kept = ["x-amz-server-side-encryption-customer-", "x-amz-request-payer", "x-amz-expected-bucket-owner"]
        request.head.headerFields = request.head.headerFields.filter { field in
            let name = field.name.canonicalName
            return !name.hasPrefix("x-amz-") || kept.contains(where: name.hasPrefix)
        }
        return request
    }

    /// Reads the content; throws `StatusError` for an error of the server, also for one with the status 200.
    private func read(
        _ response: Response, of upload: Upload, named name: String
    ) async throws -> (text: Substring, response: Response) {
        guard response.status.kind == .successful else { throw upload.refusal(response) }
        // A page of a thousand parts has less than half of it.
        let data = try await response.body.data(upTo: 1 << 20)
        let text = Substring(decoding: data, as: UTF8.self)
        var response = response
        response.body = Body(data)
        if text.contains("<Error>") {
            let mayPass = ["InternalError", "SlowDown", "ServiceUnavailable", "RequestTimeout", "OperationAborted"]
            let isTemporary = mayPass.contains { text.contains("<Code>\($0)</Code>") }
            response.status = isTemporary ? .serviceUnavailable : .badRequest
            throw upload.refusal(response)
        }
        // The names end in `Result`, and with some stores in `Response`.
        guard text.contains("<\(name)") else { throw UploadError(.invalidAnswer) }
        return (text, response)
    }
}

// In an answer of S3, no name of an element has two meanings.
extension Substring {
    /// What the elements with a name have as their content.
    fileprivate func elements(_ name: String) -> [Substring] {
        split(separator: "<\(name)>", omittingEmptySubsequences: false).dropFirst().compactMap { rest in
            rest.firstRange(of: "</\(name)>").map { rest[..<$0.lowerBound] }
        }
    }

    fileprivate func number(_ name: String) -> Int64? { elements(name).first.flatMap { Int64($0) } }
}
