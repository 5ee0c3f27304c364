#if Signing
import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// RFC 9530.
@Suite(.timeLimit(.minutes(3))) struct ContentDigestTests {
    /// An example of appendix A or B, whose content has a character for each byte.
    private struct Example: Decodable {
        let status: Int
        let content: String
        let fields: [[String]]
        let trailers: [[String]]?
    }

    private static let hello = Data("{\"hello\": \"world\"}\n".utf8)
    private static let ofHello = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"

    private func read(
        _ fields: HTTPFields, _ content: [Data] = [Data("a".utf8)], trailers: HTTPFields? = nil,
        to method: HTTPRequest.Method = .get, status: Int = 200, isRequired: Bool = false
    ) async throws -> any BodyReader {
        let isEmpty = content.isEmpty
        let stub = StubConnection { _ in
            let body = isEmpty ? .empty : Body.stream(content, length: Int64(content.count), trailers: trailers)
            return Response(status: .init(code: status), fields: fields, body: body)
        }
        let request = try Request(method, "https://a.example/")
        return try await stub.verifyingDigests(isRequired: isRequired).send(request).body.open()
    }

    @Test(arguments: [true, false])
    func `The content of an example passes, and any other does not`(isRequired: Bool) async throws {
        let examples = try Fixtures.rows("signing/content-digests.json", of: Example.self)
        #expect(examples.count == 8)
        for example in examples {
            let bytes = example.content.unicodeScalars.map { Data([UInt8($0.value)]) }
            for content in [bytes, bytes + [Data([0x20])]] {
                var reader = try await read(
                    HTTPFields(lines: example.fields), content, trailers: example.trailers.map(HTTPFields.init(lines:)),
                    status: example.status, isRequired: isRequired)
                for byte in content { #expect(try await reader.next() == byte) }
                guard content != bytes else {
                    #expect(try await reader.next() == nil)
                    continue
                }
                for _ in 0..<2 { await #expect(throws: SigningError.wrongDigest) { try await reader.next() } }
            }
        }
    }

    @Test func `A response without a digest passes unless one is required`() async throws {
        for fields in [[:], [.contentDigest: "md5=:AAAA:"], [.contentDigest: ""]] as [HTTPFields] {
            var reader = try await read(fields)
            #expect(try await reader.next() == Data("a".utf8))
            await #expect(throws: SigningError.missingDigest) { try await read(fields, isRequired: true) }
        }
        var announced = try await read([.trailer: "Content-Digest"], isRequired: true)
        _ = try await announced.next()
        await #expect(throws: SigningError.missingDigest) { try await announced.next() }
        // There is no content whose digest it could be.
        _ = try await read([.reprDigest: Self.ofHello], [], status: 204, isRequired: true)
        _ = try await read([.reprDigest: Self.ofHello], [], isRequired: true)
        _ = try await read([.contentDigest: Self.ofHello], [], to: .head, isRequired: true)
        await #expect(throws: SigningError.wrongDigest) { try await read([.contentDigest: Self.ofHello], []) }
    }

    @Test(arguments: [
        "sha-256=1", "sha-256=?1", "sha-256", "=", "sha-256=:A:", String(repeating: "a,", count: 500_000),
    ])
    func `A digest that cannot be read is refused`(value: String) async throws {
        await #expect(throws: SigningError.wrongDigest) { try await read([.contentDigest: value]) }
    }

    @Test func `Content that the transport has decoded cannot be checked`() async throws {
        var response = Response(status: .ok, fields: [.contentDigest: Self.ofHello], body: "hello")
        response.metadata.decodedContentCodings = ["gzip"]
        let stub = StubConnection(response)
        await #expect(throws: SigningError.decodedContent) {
            try await stub.verifyingDigests().send(.get("https://a.example/"))
        }
    }

    @Test func `Requests get digests of what is sent`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        let text = Data(String(repeating: "the same line\n", count: 200).utf8)
        try text.write(to: file)
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.digestingContent([.sha256, .sha512], addsRepresentation: true).compressing()
        _ = try await connection.send(.put("https://a.example/", body: Body(contentsOf: file)))
        let fields: HTTPFields = [.contentRange: "bytes 0-4/9", .contentDigest: "sha-256=:AAAA:"]
        let again = Body(replay: .fromStart) { _ in try await Body(Data("hello".utf8)).open() }
        for body in ["hello", again] {
            _ = try await connection.send(.put("https://a.example/", fields: fields, body: body))
        }
        _ = try await connection.send(.get("https://a.example/"))
        for request in stub.requests.prefix(3) {
            let content = try await request.body.data(upTo: 1000)
            let digest = try await Body(content).digest(by: [.sha256, .sha512])
            #expect(request.head.headerFields[.contentDigest] == digest.text)
        }
        let heads = stub.requests.map(\.head.headerFields)
        #expect(heads[0][.contentEncoding] == "gzip" && heads[0][.reprDigest] == heads[0][.contentDigest])
        #expect(heads[1][.reprDigest] == nil && heads[3].isEmpty)
    }

    @Test func `The digest of content that is read once is refused, or follows it`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        func request() throws -> Request {
            let fields: HTTPFields = [.contentLength: "19", .contentDigest: "sha-256=:AAAA:"]
            let body = Body.stream([Self.hello], length: 19, trailers: [.contentDigest: "a", .eTag: "1"])
            return try .put("https://a.example/", fields: fields, body: body)
        }
        await #expect(throws: SigningError.digestOfStream) { try await stub.digestingContent().send(request()) }
        #expect(stub.requests.isEmpty)
        _ = try await stub.digestingContent(streams: .trailers).send(request())
        let sent = try #require(stub.requests.first)
        #expect(sent.head.headerFields == [.trailer: "Content-Digest"] && sent.body.length == nil)
        let trailers = try await sent.body.collect(upTo: 100).trailers
        #expect(trailers == [.eTag: "1", .contentDigest: Self.ofHello])
    }

    @Test(arguments: DecoratorLaw.all) func `Checking digests keeps the laws`(law: DecoratorLaw) async throws {
        let honest = DecoratorLaw.ActivePath("a digest") { _, _ in
            Response(status: .ok, fields: [.contentDigest: Self.ofHello], body: Body(Self.hello))
        }
        try await law.check(answering: [honest]) { $0.verifyingDigests() }
    }

    @Test(arguments: DecoratorLaw.ofDigests) func `Making digests keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check(adding: [.contentDigest, .trailer]) { $0.digestingContent(streams: .trailers) }
    }
}
#endif
