import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct MissingTests {
    private struct Problem: Decodable, Sendable, Equatable { var message: String }

    private func connection(_ status: HTTPResponse.Status, _ body: Body) -> some Connection {
        StubConnection { _ in Response(status: status, fields: [.contentType: "application/json"], body: body) }
            .calling(API(limit: 5000, problem: Problem.self))
    }

    @Test(arguments: [404, 410])
    func `A resource that is missing is nil, and one that is there a value`(code: Int) async throws {
        let missing = connection(HTTPResponse.Status(code: code), #"{"message":"gone"}"#)
        #expect(try await missing.value(of: Endpoint<Item>.item(1).nilIfMissing()) == nil)
        await #expect(throws: RefusalError.self) { try await missing.value(of: .item(1)) }
        let present = connection(.ok, #"{"id":1,"name":"one"}"#)
        #expect(try await present.value(of: Endpoint<Item>.item(1).nilIfMissing()) == Item(id: 1, name: "one"))
    }

    @Test(arguments: [400, 403, 422, 500])
    func `Another status is an error, with the API's own`(code: Int) async throws {
        let connection = connection(HTTPResponse.Status(code: code), #"{"message":"no"}"#)
        let error = try await #require(throws: RefusalError.self) {
            try await connection.value(of: Endpoint<Item>.item(1).nilIfMissing())
        }
        #expect(error.status.code == code && error.problem(as: Problem.self) == Problem(message: "no"))
    }

    @Test func `The content of a missing resource is read to its end, and no further than the limit`() async throws {
        let short = GatedTransfer.open
        let ending = connection(.notFound, short.body(chunks: 3))
        #expect(try await ending.value(of: Endpoint<Item>.item(1).nilIfMissing()) == nil)
        #expect(short.chunksRead == 3)
        let long = GatedTransfer.open
        let endless = connection(.notFound, long.body(chunks: 100))
        #expect(try await endless.value(of: Endpoint<Item>.item(1).nilIfMissing()) == nil)
        #expect(long.bytesRead == 6000)
    }

    @Test func `Statuses that were accepted stay, and those that are stated later replace them`() async throws {
        let value = #"{"id":1,"name":"one"}"#
        let both = Endpoint<Item>.item(1).accepting(statuses: .codes([409])).nilIfMissing()
        #expect(try await connection(.conflict, Body(value)).value(of: both) == Item(id: 1, name: "one"))
        #expect(try await connection(.notFound, Body(value)).value(of: both) == nil)
        await #expect(throws: RefusalError.self) { try await connection(.ok, Body(value)).value(of: both) }
        #expect("\(both.accepted)" == "[409], 404, 410")
        let replaced = Endpoint<Item>.item(1).nilIfMissing().accepting(statuses: .codes([200]))
        await #expect(throws: RefusalError.self) { try await connection(.notFound, Body(value)).value(of: replaced) }
    }

    @Test func `The call is the same`() throws {
        var endpoint = Endpoint<Item>.post("items/{id}", ["id": 7], query: ["a": 1], content: .text("x"))
        endpoint.fields[.acceptLanguage] = "de"
        endpoint.limit = 3
        endpoint.api = API(limit: 4)
        endpoint.options.idleTimeout = .seconds(5)
        let optional = endpoint.nilIfMissing()
        let (request, expected) = try (optional.request(), endpoint.request())
        #expect(request.head == expected.head && request.body.bytes == expected.body.bytes)
        #expect(request.options.routeName == "items/{id}" && request.options.idleTimeout == .seconds(5))
        #expect(optional.limit == 3 && optional.api?.settings.limit == 4)
    }
}
