import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct RefusalErrorTests {
    struct Problem: Decodable, Sendable, Equatable { var message: String }

    private func stub(_ status: HTTPResponse.Status, _ body: Body, as type: String = "application/json")
        -> StubConnection
    {
        StubConnection { _ in
            var response = Response(status: status, body: body)
            response.head.headerFields[.contentType] = type
            return response
        }
    }

    @Test(arguments: [false, true])
    func `Another status is an error with the API's own`(isValidated: Bool) async throws {
        let base = stub(.unprocessableContent, #"{"message":"too long: hunter2"}"#)
        let api = API(problem: Problem.self)
        let connection: any Connection = isValidated ? base.validatingStatus().calling(api) : base.calling(api)
        let error = try #require(await #expect(throws: RefusalError.self) { try await connection.value(of: .item(1)) })
        #expect(error.status == .unprocessableContent)
        #expect(error.problem(as: Problem.self) == Problem(message: "too long: hunter2"))
        #expect(error.problem(as: String.self) == nil)
        #expect(error.content == Data(#"{"message":"too long: hunter2"}"#.utf8))
        #expect(try await error.statusError.response.body.data(upTo: 1 << 10) == error.content)
        #expect(error.statusError.routeName == "items/{id}")
        #expect(!"\(error)".contains("hunter2") && !"\(String(reflecting: error))".contains("hunter2"))
        #expect("\(error)".contains("items/{id}"))
    }

    @Test func `A layer that makes an error of an accepted status does not decide`() async throws {
        let connection = stub(.notFound, #"{"id":0,"name":"none"}"#).validatingStatus().calling(.standard)
        let endpoint = Endpoint<Item>.item(1).accepting(statuses: .codes([404]))
        #expect(try await connection.value(of: endpoint) == Item(id: 0, name: "none"))
        await #expect(throws: StatusError.self) { try await connection.send(.get("https://example.com/")) }
    }

    @Test func `Content without a media type may be the error of the API`() async throws {
        let refusal = Response(
            status: .unprocessableContent,
            body: #"{"message": "blank", "errors": [{"field": "title", "code": "blank"}]}"#)
        let connection = StubConnection { _ in refusal }.calling(API(problem: Problem.self))
        let error = try #require(await #expect(throws: RefusalError.self) { try await connection.value(of: .item(1)) })
        #expect(error.problem(as: Problem.self)?.message == "blank")
        #expect(error.statusError.fieldProblems.map(\.name) == ["title"])
    }

    @Test func `A typed call dates a refusal by the clock of the stack`() async throws {
        let clock = VirtualClock()
        let reset = "\(Int(clock.date.timeIntervalSince1970) + 300)"
        var limited = Response(status: .forbidden)
        limited.head.headerFields[try #require(HTTPField.Name("X-RateLimit-Remaining"))] = "0"
        limited.head.headerFields[try #require(HTTPField.Name("X-RateLimit-Reset"))] = reset
        let answer = limited
        let stub = StubConnection { _ in answer }
        let connection = stub.validatingStatus(clock: clock).calling(API(problem: Problem.self))
        let error = try #require(await #expect(throws: RefusalError.self) { try await connection.value(of: .item(1)) })
        #expect(error.statusError.retryAfter == .seconds(300))
        #expect(error.statusError.retryDate == clock.date.addingTimeInterval(300))
    }

    @Test func `A page of a gateway leaves the status`() async throws {
        let connection = stub(.badGateway, "<html>", as: "text/html").calling(API(problem: Problem.self))
        let error = try #require(await #expect(throws: RefusalError.self) { try await connection.value(of: .item(1)) })
        #expect(error.problem(as: Problem.self) == nil)
        #expect(error.content == Data("<html>".utf8))
    }

    @Test func `Content that is long or no text is left to the caller`() async throws {
        let image = stub(.notFound, Body(Data([1, 2])), as: "image/png")
        let error = try #require(await #expect(throws: RefusalError.self) { try await image.value(of: .item(1)) })
        #expect(error.content == nil)
        #expect(try await error.statusError.response.body.data(upTo: 2) == Data([1, 2]))

        let long = stub(.notFound, Body(Data(count: 70_000)), as: "text/plain")
        let second = try #require(await #expect(throws: RefusalError.self) { try await long.value(of: .item(1)) })
        #expect(second.content == nil)
        #expect(second.statusError.response.body.length == 70_000)

        let stream = stub(
            .notFound, Body(length: nil, replay: .once) { _ in OneByteReader(count: 70_000) }, as: "text/plain")
        let third = try #require(await #expect(throws: RefusalError.self) { try await stream.value(of: .item(1)) })
        #expect(third.content?.count == 65_536)
        #expect(try await third.statusError.response.body.data(upTo: 70_000).count == 70_000)
    }

    @Test func `A stored answer that was not modified is no value`() async throws {
        let connection = StubConnection { _ in Response(status: .notModified) }
        let error = try #require(await #expect(throws: RefusalError.self) { try await connection.value(of: .item(1)) })
        #expect(error.status == .notModified)
    }
}
