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

    @Test func `A 205 has no content`() async throws {
        let response = try await send(.init(.resetContent))

        #expect(response.status == .resetContent)
        #expect(try await response.body.data(upTo: 1).isEmpty)
    }
}
