import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The heads of responses, which the platform would act upon if the transport did not prevent it.
@Suite(.timeLimit(.minutes(3))) struct URLSessionAnswerTests {
    let connection = URLSessionConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
    }

    private func send(
        _ answer: LoopbackOrigin.Answer, as method: HTTPRequest.Method = .get
    ) async throws -> Response {
        origin.enqueue(answer)
        return try await connection.send(Request(method, origin.url + "/"))
    }

    @Test(arguments: [HTTPRequest.Method.get, .post, .head])
    func `A 401 with a Basic challenge may have no body, or a long one`(method: HTTPRequest.Method) async throws {
        for count in [0, 100_000] {
            let response = try await send(
                .init(.unauthorized, fields: ["WWW-Authenticate": "Basic"], body: BytePattern.bytes(count)),
                as: method)

            #expect(response.status == .unauthorized)
            #expect(try await response.body.data(upTo: count).count == (method == .head ? 0 : count))
        }
        #expect(origin.connectionCount == 1)
    }

    @Test func `A 401 with a Basic challenge to a request with content is a response`() async throws {
        origin.enqueue(.init(.unauthorized, fields: ["WWW-Authenticate": "Basic"], body: "who?"))
        let response = try await connection.send(.post(origin.url + "/", body: "hello"))

        #expect(try await response.body.text(upTo: 100) == "who?")
        #expect(origin.requests.map(\.text) == ["hello"])
    }

    @Test func `A 401 with a Basic challenge that is cut short is an error`() async throws {
        let response = try await send(
            .script(
                .head(.unauthorized, ["WWW-Authenticate": "Basic", "Content-Length": "9"]), .raw("who"), .close))

        let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }
        #expect(error?.code == .truncated)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `A redirection to nowhere is a response`(code: Int) async throws {
        let response = try await send(.init(.init(code: code)))

        #expect(response.status.code == code)
        #expect(try await response.body.data(upTo: 100).isEmpty)
    }

    @Test(arguments: [
        "ftp://example.com/", "http://", "//", "::", "?", "#", "http://[", "\u{1F36A}", "mailto:a@b", "%",
    ])
    func `A redirection to an odd place is a response`(location: String) async throws {
        let response = try await send(.init(.found, fields: ["Location": location]))

        #expect(response.status == .found)
    }

    @Test func `Other repeated fields are one list`() async throws {
        let response = try await send(.init(fields: ["Vary": "A", "Vary": "B", "Via": "1.1 a"]))

        #expect(response.head.headerFields[.vary] == "A, B")
        #expect(response.head.headerFields[values: .via] == ["1.1 a"])
    }

    @Test func `A 205 has no content`() async throws {
        let response = try await send(.init(.resetContent))

        #expect(response.status == .resetContent)
        #expect(try await response.body.data(upTo: 1).isEmpty)
    }

    static let coded: [(coding: String, bytes: [UInt8])] = [
        (
            "gzip",
            [
                0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 2, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10, 0x36, 5,
                0, 0, 0,
            ]
        ),
        ("deflate", [0x78, 0x9C, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x06, 0x2C, 0x02, 0x15]),
        ("br", [0x0B, 0x02, 0x80, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x03]),
    ]

    @Test(arguments: coded)
    func `Decoded content has no fields that describe the coded`(coding: String, bytes: [UInt8]) async throws {
        let response = try await send(
            .init(fields: ["Content-Encoding": coding, "ETag": "\"1\""], body: Data(bytes)))

        #expect(response.head.headerFields[.contentEncoding] == nil)
        #expect(response.head.headerFields[.contentLength] == nil)
        #expect(response.head.headerFields[.eTag] == "\"1\"")
        #expect(response.metadata.decodedContentCodings == [coding])
        #expect(response.body.length == nil)
        #expect(try await response.body.text(upTo: 100) == "hello")
    }

    @Test func `Content in the identity coding keeps its length`() async throws {
        let response = try await send(.init(fields: ["Content-Encoding": "identity"], body: "hello"))

        #expect(response.body.length == 5)
        #expect(response.metadata.decodedContentCodings.isEmpty)
        #expect(try await response.body.text(upTo: 100) == "hello")
    }
}
