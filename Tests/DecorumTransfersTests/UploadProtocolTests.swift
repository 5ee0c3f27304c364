import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTransfers

/// The requests of the protocols, and what each answer leads to.
@Suite(.timeLimit(.minutes(3))) struct UploadProtocolTests {
    /// Uploads to a server that gives these answers, each after it has read the request; the text has the methods of the
    /// requests, and the status of the end, or with a mark the error.
    private func outcome(
        of content: Body = whole, to request: Request? = nil, by method: some UploadProtocol = ResumableUpload(),
        _ answers: [Response]
    ) async throws -> (text: String, requests: [Request]) {
        let stub = StubConnection(
            answers: answers.map { answer in
                { request in
                    try await request.body.drain(upTo: 64 << 20)
                    return answer
                }
            })
        let transfer = stub.uploading(
            content, to: try request ?? UploadTests.request(), by: method,
            policy: UploadPolicy(resumption: .init(attempts: 2)), clock: ImpatientClock())
        let end: String
        do {
            end = "\(try await transfer.value.status.code)"
        } catch let error as any DescribableError {
            end = "!" + error.shortDescription
            // Whoever has the URL of the upload may go on with it.
            #expect(!"\(error)".contains("/files/"))
        }
        return ((stub.requests.map(\.head.method.rawValue) + [end]).joined(separator: " "), stub.requests)
    }

    private static func at(_ offset: Int, _ status: Int = 204, isComplete: Bool? = nil) -> Response {
        var response = Response.answer(status, ["Upload-Offset": "\(offset)"])
        response.head.headerFields["Upload-Complete"] = isComplete.map { $0 ? "?1" : "?0" }
        return response
    }

    private static let created = Response.answer(201, ["Location": "/files/1", "Upload-Complete": "?0"])
    private static let done = Response.answer(200, ["Upload-Complete": "?1"])
    private static let busy = Response.answer(503)
    private static let otherLength = Response.answer(204, ["Upload-Offset": "0", "Upload-Length": "99"])
    private static let whole = Body(BytePattern.bytes(100))

    private static func problem(_ name: String) -> Response {
        let text = #"{"type":"https://iana.org/assignments/http-problem-types#\#(name)"}"#
        return .answer(400, ["Content-Type": "application/problem+json"], text)
    }

    @Test func `The creation has no content, and alone its fields, conditions and the idempotency key`() async throws {
        var request = try UploadTests.request()
        request.options.idempotencyKey = "key"
        for name in ["If-Match", "Content-Disposition", "X-Trace"] { request.head.headerFields[name] = "a" }
        // An interim response counts if it speaks the same version.
        var creation = Response.answer(201)
        creation.metadata.informational = ["5", "6", "7"].map { version in
            var interim = HTTPResponse(status: .init(code: 104), headerFields: [.location: "/files/\(version)"])
            interim.headerFields["Upload-Draft-Interop-Version"] = version
            return interim
        }
        let (stub, method) = (StubConnection(creation, Self.done), ResumableUpload(interopVersion: 6))
        let body = Self.whole.typed(as: "video/mp4")
        #expect(try await stub.addingIdempotencyKey().upload(body, to: request, by: method).status == .ok)
        #expect(stub.requests.map(\.head.path) == ["/files", "/files/6"])
        #expect(stub.requests.map(\.body.length) == [0, 100])
        let expected: KeyValuePairs = [
            "Upload-Complete": ["?0", "?1"], "Upload-Offset": [nil, "0"], "Upload-Length": ["100", nil],
            "Content-Type": ["video/mp4", "application/partial-upload"], "Upload-Draft-Interop-Version": ["6", "6"],
            "If-Match": ["a", nil], "Content-Disposition": ["a", nil], "X-Trace": ["a", "a"],
        ]
        for (name, both) in expected { #expect(stub.requests.map { $0.head.headerFields[name] } == both, "\(name)") }
        #expect(stub.requests.map { $0.head.headerFields["Idempotency-Key"] == #""key""# } == [true, false])
        #expect(try await outcome(of: .empty, [Self.created, Self.done]).text == "POST PATCH 200")
    }

    private static func limited(_ limit: String) -> Response {
        .answer(201, ["Location": "/files/1", "Upload-Limit": limit])
    }

    private static let draft: [(answers: [Response], outcome: String)] = [
        ([.answer(200)], "POST !invalidAnswer"),
        ([.answer(201, ["Location": ""])], "POST !invalidAnswer"),
        ([.answer(201, ["Location": "http://["])], "POST !invalidAnswer"),
        // The resource itself has answered (section 4.4.1).
        ([.answer(403, ["Upload-Complete": "?1"])], "POST 403"),
        ([.answer(404, ["Upload-Complete": "?0"])], "POST !404"),
        // Limits (section 4.1.4): a field with a member of a wrong type counts as absent.
        ([limited("max-size=99"), .answer(204)], "POST DELETE !sizeRefused"),
        ([limited("min-size=101"), .answer(204)], "POST DELETE !sizeRefused"),
        ([limited(#"max-size=99, min-size="1""#), done], "POST PATCH 200"),
        ([limited("max-size=-1"), done], "POST PATCH 200"),
        // Parts are as long as the server allows.
        ([limited("max-append-size=60, max-size=100, min-size=100"), .answer(204), done], "POST PATCH PATCH 200"),
        ([limited("max-append-size=0"), done], "POST PATCH 200"),
        // The final answer, whatever its status (section 4.4.1).
        ([created, .answer(200)], "POST PATCH 200"),
        ([created, .answer(503, ["Upload-Complete": "?1"])], "POST PATCH 503"),
        ([created, .answer(404)], "POST PATCH !outcomeUnknown"),
        // The server has all, but waits for the end.
        ([created, at(100, isComplete: false), done], "POST PATCH PATCH 200"),
        // 409, with and without the offset.
        ([created, at(60, 409), done], "POST PATCH PATCH 200"),
        ([created, .answer(409), at(60), done], "POST PATCH HEAD PATCH 200"),
        // Offsets past what was sent, that do not grow, that go back, and that lack; another length.
        ([created, at(500, 409)], "POST PATCH !invalidAnswer"),
        ([created, at(0, 409), at(0, 409), at(0, 409)], "POST PATCH PATCH PATCH !invalidAnswer"),
        ([created, at(60, isComplete: false), at(59, 409)], "POST PATCH PATCH !invalidAnswer"),
        ([created, busy, .answer(204)], "POST PATCH HEAD !invalidAnswer"),
        ([created, busy, at(100, isComplete: true)], "POST PATCH HEAD 204"),
        ([created, busy, at(99, isComplete: true)], "POST PATCH HEAD !invalidAnswer"),
        ([created, busy, otherLength], "POST PATCH HEAD !invalidAnswer"),
        // What may pass, and one failure more than the policy allows without a further byte.
        (
            [created, .answer(408), at(1), .answer(425), at(2), busy, at(100, isComplete: true)],
            "POST PATCH HEAD PATCH HEAD PATCH HEAD 204"
        ),
        ([created, .answer(429), at(0), .answer(423), at(0), busy], "POST PATCH HEAD PATCH HEAD PATCH !503"),
        // Problem types (section 7).
        ([created, problem("inconsistent-upload-length")], "POST PATCH !invalidAnswer"),
        ([created, problem("completed-upload"), at(100)], "POST PATCH HEAD 204"),
        ([created, .answer(400, ["Content-Type": "application/problem+json"], "{")], "POST PATCH !400"),
        // What is too large is sent in parts, if the answer tells the limit.
        ([created, .answer(413)], "POST PATCH !sizeRefused"),
        ([created, .answer(413, ["Upload-Limit": "max-append-size=60"]), done], "POST PATCH PATCH 200"),
    ]

    @Test func `A server that answers before it has the content is asked for the offset`() async throws {
        let stub = StubConnection(Self.created, .answer(200), Self.at(0), Self.done)
        #expect(try await stub.upload(Body("content"), to: UploadTests.request()).status == .ok)
        #expect(stub.requests.map(\.head.method) == [.post, .patch, .head, .patch])
    }

    @Test func `Metadata go in Base64, and parts with their checksums`() async throws {
        let checksum = TusUpload.Checksum("sum") { Data([UInt8($0.count)]) }
        let upload = TusUpload(metadata: ["filename": "ä.mp4", "empty": ""], partSize: 60, checksum: checksum)
        let (_, requests) = try await outcome(by: upload, [Self.created, Self.at(60), Self.at(100)])
        let fields = requests.map(\.head.headerFields)
        #expect(fields[0]["Upload-Metadata"] == "empty,filename w6QubXA0" && fields[0]["Upload-Length"] == "100")
        #expect(fields.map { $0["Tus-Resumable"] } == ["1.0.0", "1.0.0", "1.0.0"])
        #expect(fields.map { $0["Upload-Checksum"] } == [nil, "sum PA==", "sum KA=="])
        #expect(fields.map { $0["Upload-Offset"] } == [nil, "0", "60"])
        #expect(fields[1]["Content-Type"] == "application/offset+octet-stream")
        #expect(TusUpload(checksum: checksum).partSize == 4 << 20 && TusUpload(partSize: -1).partSize == 1)
        for name in ["", "no name", "a,b", "ä"] {
            #expect(try await outcome(by: TusUpload(metadata: [name: "x"]), []).text == "!invalidField")
        }
        // Content without a byte is complete with its creation.
        #expect(try await outcome(of: .empty, by: TusUpload(), [Self.created]).text == "POST 201")
    }

    private static let tus: [(answers: [Response], outcome: String)] = [
        ([.answer(412, ["Location": "/files/1"])], "POST !412"),
        ([created, .answer(204)], "POST PATCH !invalidAnswer"),
        // A wrong offset, a lock, and a checksum that does not match leave what is stored.
        ([created, .answer(409), at(40), .answer(460), at(40), at(100)], "POST PATCH HEAD PATCH HEAD PATCH 204"),
        ([created, .answer(500), at(100)], "POST PATCH HEAD 204"),
    ]

    private static let size = 5 << 20
    private static let begun = Response.answer(
        200, [:], #"<InitiateMultipartUploadResult xmlns="x"><UploadId>a/b</UploadId></InitiateMultipartUploadResult>"#)
    private static let completed = Response.answer(
        200, [:], "\n <CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>\n")

    private static let (one, two) = (Response.answer(200, ["ETag": "\"1\""]), Response.answer(200, ["ETag": "\"<2>\""]))
    private static func error(_ code: String, _ status: Int = 200) -> Response {
        .answer(status, [:], "<Error><Code>\(code)</Code><Message>secret</Message></Error>")
    }
    private static func list(_ parts: [(Int, Int)], next: Int? = nil) -> Response {
        let rows = parts.map { number, size in
            "<Part><PartNumber>\(number)</PartNumber><ETag>&quot;\(number)&quot;</ETag><Size>\(size)</Size></Part>"
        }
        let end = next.map { "<IsTruncated>true</IsTruncated><NextPartNumberMarker>\($0)</NextPartNumberMarker>" } ?? ""
        return .answer(200, [:], "<ListPartsResult>\(rows.joined())\(end)</ListPartsResult>")
    }

    private static func body(_ length: Int64?, _ replay: Body.Replay = .fromAnyOffset) -> Body {
        Body(length: length, replay: replay) { _ in try await Body(BytePattern.bytes(65_536)).open() }
    }

    private func s3(
        of content: Body = Body(BytePattern.bytes(size + 10)), _ answers: [Response]
    ) async throws -> (text: String, requests: [Request]) {
        var request = try Request.put("https://s3.example.com/bucket/film?a=b", body: .empty)
        request.head.headerFields["x-amz-acl"] = "private"
        return try await outcome(of: content, to: request, by: S3MultipartUpload(partSize: 1), answers)
    }

    @Test func `Parts go one after the other, and their tags make the object`() async throws {
        let requests = try await s3([Self.begun, Self.one, Self.two, Self.completed]).requests
        #expect(
            requests.map { "\($0.head.method) \($0.head.path ?? "")" } == [
                "POST /bucket/film?a=b&uploads", "PUT /bucket/film?a=b&partNumber=1&uploadId=a%2Fb",
                "PUT /bucket/film?a=b&partNumber=2&uploadId=a%2Fb", "POST /bucket/film?a=b&uploadId=a%2Fb",
            ])
        #expect(requests.map { $0.head.headerFields["x-amz-acl"] } == ["private", nil, nil, nil])
        #expect(requests.map(\.body.length)[1...2] == [Int64(Self.size), 10])
        #expect(
            try await requests[3].body.text(upTo: 1_000)
                == "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"1\"</ETag></Part>"
                + "<Part><PartNumber>2</PartNumber><ETag>\"&lt;2>\"</ETag></Part></CompleteMultipartUpload>")
        #expect(!"\(requests[1])".contains("a%2Fb"))
        // An object without content has one part.
        #expect(try await s3(of: .empty, [Self.begun, Self.one, Self.completed]).text == "POST PUT POST 200")
        // At most 10,000 parts have at most 5 GiB.
        let stub = StubConnection(Self.begun, .answer(403))
        _ = try? await stub.upload(Self.body(100 << 30), to: UploadTests.request(), by: S3MultipartUpload())
        #expect(stub.requests.last?.body.length == 11 << 20)
        #expect(try await s3(of: Self.body(.max), []).text == "!sizeRefused")
    }

    @Test func `A record without a possible size of parts does not end the process`() async throws {
        let (folder, once) = (DownloadFolder(BytePattern.bytes(100)), UploadPolicy(resumption: .init(attempts: 0)))
        let request = try Request.put("https://s3.example.com/bucket/film", body: .empty)
        func upload(_ answers: Response...) async throws -> Response {
            let stub = StubConnection(answers: answers.map { answer in { _ in answer } })
            return try await stub.upload(
                Body(contentsOf: folder.file), to: request, by: S3MultipartUpload(), policy: once)
        }
        await #expect(throws: StatusError.self) { try await upload(Self.begun, Self.busy) }
        let file = try #require(folder.others.first)
        var record = try #require(RecordForm.decode(UploadRecord.self, from: Data(contentsOf: file)))
        record.ticket.facts["size"] = "-1"
        try RecordForm.encode(record).write(to: file)
        #expect(try await upload(Self.list([(1, 100)]), Self.completed).status == .ok)
    }

    private static let start = [begun, one, two]
    private static let multipart: [(answers: [Response], outcome: String)] = [
        ([.answer(200, [:], "<Other/>")], "POST !invalidAnswer"),
        ([error("AccessDenied", 403)], "POST !403"),
        ([begun, .answer(200)], "POST PUT !invalidAnswer"),
        // An error with the status 200: the first kind may pass, the second does not.
        (start + [error("InternalError"), list([(1, size), (2, 10)]), completed], "POST PUT PUT POST GET POST 200"),
        (start + [error("InvalidPart")], "POST PUT PUT POST !400"),
        // After a break, the parts count that follow each other and have the right size.
        ([begun, one, busy, list([(1, size)]), two, completed], "POST PUT PUT GET PUT POST 200"),
        ([begun, busy, list([(1, size - 1)])] + start[1...] + [completed], "POST PUT GET PUT PUT POST 200"),
        ([begun, busy, list([(2, 10)])] + start[1...] + [completed], "POST PUT GET PUT PUT POST 200"),
        ([begun, one, busy, list([(1, size)], next: 1), list([(2, 10)]), completed], "POST PUT PUT GET GET POST 200"),
        ([begun, busy, list([(1, size)], next: 0)], "POST PUT GET !invalidAnswer"),
        // The answer that completed the object was lost, or a rule of the bucket has removed the parts.
        (start + [busy, error("NoSuchUpload", 404)], "POST PUT PUT POST GET !outcomeUnknown"),
        ([begun, error("NoSuchUpload", 404)], "POST PUT !gone"),
    ]

    @Test func `Each answer leads to what the protocol says, also 409 and offsets that go back`() async throws {
        for (answers, expected) in Self.draft { #expect(try await outcome(answers).text == expected) }
        for (answers, expected) in Self.tus { #expect(try await outcome(by: TusUpload(), answers).text == expected) }
        for (answers, expected) in Self.multipart { #expect(try await s3(answers).text == expected) }
        for body in [Self.body(nil), Self.body(1, .fromStart)] {
            #expect(try await outcome(of: body, []).text == "!contentReadOnce")
        }
    }
}
