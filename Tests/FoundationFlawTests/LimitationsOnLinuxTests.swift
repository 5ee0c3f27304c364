#if canImport(FoundationNetworking)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The limits that `URLSessionConnection` documents under "On Linux".
///
/// When a test fails, the platform has changed, and the documentation has to change too.
@Suite(.timeLimit(.minutes(3))) struct LimitationsOnLinuxTests {
    let connection = URLSessionConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
    }

    private func fields(_ lines: String) async throws -> HTTPFields {
        origin.enqueue(.script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(lines)\r\n")))
        return try await connection.send(.get(origin.url + "/")).head.headerFields
    }

    @Test(arguments: ["[::1]", "[::1]:80", "[fe80::1]"])
    func `An IPv6 address is refused before anything is sent`(authority: String) async throws {
        let request = try Request.get("http://\(authority)/")

        let error = await #expect(throws: InvalidRequestError.self) { try await connection.send(request) }
        #expect(error?.reason == .invalidHost)
        #expect(error?.description.contains("IPv6") == true)
    }

    @Test func `GET on a connection that turns out to be dead is sent twice without notice`() async throws {
        origin.enqueue(LoopbackOrigin.Answer(body: "first"), .closing, LoopbackOrigin.Answer(body: "third"))
        _ = try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)

        let response = try await connection.send(.get(origin.url + "/"))
        #expect(try await response.body.text(upTo: 10) == "third")
        #expect(origin.requests.count == 3)
        #expect(response.metadata.attempts == 1)
    }

    @Test(arguments: [HTTPRequest.Method.delete, .post])
    func `A method without content is sent twice without notice too`(method: HTTPRequest.Method) async throws {
        // The origin has read the first one before it closes the connection.
        origin.enqueue(LoopbackOrigin.Answer(), .closing, LoopbackOrigin.Answer())
        _ = try await connection.send(.get(origin.url + "/"))

        let response = try await connection.send(Request(method, origin.url + "/"))
        #expect(response.status == .ok)
        #expect(origin.requests.map(\.method) == [.get, method, method])
    }

    @Test func `Of two lengths whose names are spelled differently one is lost at random`() async throws {
        origin.enqueue(.script(.raw("HTTP/1.1 200 OK\r\ncontent-length: 9\r\nContent-Length: 3\r\n\r\nabc")))
        let response = try await connection.send(.get(origin.url + "/"))

        // libcurl uses the last one, whichever of the two the response shows.
        let lengths = response.head.headerFields[values: .contentLength]
        do {
            #expect(try await response.body.text(upTo: 10) == "abc")
            #expect(lengths == ["3"])
        } catch let error as TransportError {
            #expect(error.code == .malformedResponse)
            #expect(lengths == ["9"])
        }
    }

    @Test func `Fields that repeat in other letters lose all but one`() async throws {
        let fields = try await fields("Vary: A\r\nvary: B\r\n")

        #expect(fields[values: .vary].count == 1)
    }

    @Test(arguments: [
        "X-A:no blank\r\n", "X-A: caf\u{E9} in Latin-1\r\n", "X-A: \(String(repeating: "x", count: 110_000))\r\n",
    ])
    func `A field that is legal elsewhere fails the response`(line: String) async throws {
        let bytes = Data(line.unicodeScalars.map { UInt8($0.value) })
        origin.enqueue(
            .script(.raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"), .raw(bytes), .raw("\r\n"), .close))

        let error = await #expect(throws: TransportError.self) { try await connection.send(.get(origin.url + "/")) }
        #expect(error?.code == .malformedResponse)
        #expect(error?.stage == .head)
    }

    @Test(arguments: ["HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"])
    func `A head in another style fails the response`(head: String) async throws {
        origin.enqueue(.script(.raw(head), .close))

        let error = await #expect(throws: TransportError.self) { try await connection.send(.get(origin.url + "/")) }
        #expect(error?.code == .malformedResponse)
    }

    @Test func `The body of a redirection is returned at its end, not while it is sent`() async throws {
        let gate = Gate()
        origin.enqueue(
            .script(.head(.found, ["Location": "/", "Content-Length": "5"]), .raw("mov"), .wait(gate), .raw("ed")))
        let request = try Request.get(origin.url + "/")
        let task = Task { [connection] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        gate.open()

        #expect(try await task.value.body.text(upTo: 10) == "moved")
    }

    @Test func `Content is decoded even when the request accepts identity alone`() async throws {
        let gzip = Data([
            0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 2, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0,
            0, 0,
        ])
        origin.enqueue(LoopbackOrigin.Answer(fields: ["Content-Encoding": "gzip"], body: gzip))

        let response = try await connection.send(.get(origin.url + "/", fields: [.acceptEncoding: "identity"]))
        #expect(response.metadata.decodedContentCodings == ["gzip"])
        #expect(try await response.body.text(upTo: 10) == "hello")
    }

    @Test func `Content in gzip that ends too early is complete`() async throws {
        let coded = try CodedItems.data("items.gz").prefix(2000)
        origin.enqueue(LoopbackOrigin.Answer(fields: ["Content-Encoding": "gzip"], body: coded))

        let content = try await connection.send(.get(origin.url + "/")).body.data(upTo: 1 << 20)
        #expect(try CodedItems.content().starts(with: content))
    }

    @Test func `Content in gzip of several members fails`() async throws {
        origin.enqueue(
            LoopbackOrigin.Answer(fields: ["Content-Encoding": "gzip"], body: try CodedItems.data("items.members.gz")))

        let response = try await connection.send(.get(origin.url + "/"))
        await #expect(throws: TransportError.self) { try await response.body.data(upTo: 1 << 20) }
    }

    @Test func `Content in zstd is decoded`() async throws {
        let zstd = Data([0x28, 0xB5, 0x2F, 0xFD, 0x20, 5, 0x29, 0, 0]) + Data("hello".utf8)
        origin.enqueue(LoopbackOrigin.Answer(fields: ["Content-Encoding": "zstd"], body: zstd))

        let response = try await connection.send(.get(origin.url + "/"))
        #expect(response.metadata.decodedContentCodings == ["zstd"])
        #expect(try await response.body.text(upTo: 10) == "hello")
    }

    @Test func `Dot segments of a path are removed before it is sent`() async throws {
        origin.route(.get, "*", LoopbackOrigin.Answer())
        _ = try await connection.send(.get(origin.url + "/a/../b/./c"))

        #expect(origin.requests.map(\.target) == ["/b/c"])
    }

    @Test func `The reason phrase is lost`() async throws {
        origin.enqueue(LoopbackOrigin.Answer(.init(code: 200, reasonPhrase: "Fine")))
        let response = try await connection.send(.get(origin.url + "/"))

        #expect(response.status.reasonPhrase == "")
    }
}
#endif
