import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite struct StatusValidationTests {
    let request: Request

    init() throws {
        request = try .get("https://api.example.com/items/42?token=hunter2", fields: [.authorization: "Bearer hunter2"])
    }

    @Test(arguments: [200, 201, 202, 204, 206, 207, 226, 299, 304])
    func `An accepted response passes unchanged`(code: Int) async throws {
        let stub = StubConnection(Response(status: .init(code: code), fields: [.server: "x"], body: "content"))
        let response = try await stub.validatingStatus().send(request)

        #expect(response.status.code == code)
        #expect(response.head.headerFields == [.server: "x"])
        #expect(try await response.body.text(upTo: 10) == "content")
        #expect(stub.requests == [request])
    }

    @Test(arguments: [100, 101, 199, 300, 301, 302, 303, 305, 307, 308, 400, 401, 404, 429, 500, 503, 599, 600, 999])
    func `Any other status is an error with the whole response`(code: Int) async throws {
        let stub = StubConnection(Response(status: .init(code: code), fields: [.retryAfter: "5"], body: "content"))
        let error = try await #require(throws: StatusError.self) { try await stub.validatingStatus().send(request) }

        #expect(error.status.code == code)
        #expect(error.method == .get)
        #expect(error.origin == (try Origin("https://api.example.com")))
        #expect(error.response.head.headerFields == [.retryAfter: "5"])
        #expect(error.response.metadata.source == .stub)
        #expect(try await error.response.body.text(upTo: 10) == "content")
        #expect(stub.requests == [request])
    }

    @Test(arguments: [
        (AcceptedStatuses.codes(200..<400), [200, 304, 399], [199, 400, 404]),
        (.codes([200, 404]), [200, 404], [201, 304, 500]),
        (.codes(Set([404])), [404], [200]),
        (.codes(0...Int.max), [0, 200, 999], []),
        (.codes([]), [], [200, 304, 404]),
        (AcceptedStatuses { $0.kind != .serverError }, [200, 301, 404], [500, 503]),
    ])
    func `The caller chooses accepted statuses`(rule: AcceptedStatuses, accepted: [Int], refused: [Int]) async throws {
        for code in accepted {
            let stub = StubConnection(Response(status: .init(code: code)))
            #expect(try await stub.validatingStatus(rule).send(request).status.code == code)
        }
        for code in refused {
            let stub = StubConnection(Response(status: .init(code: code)))
            await #expect(throws: StatusError.self) { try await stub.validatingStatus(rule).send(request) }
        }
    }

    private static func problem(_ chunks: [String], length: Int64? = nil) -> Response {
        let body = Body(
            chunks: AsyncStream { continuation in
                for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
                continuation.finish()
            }, length: length)
        return Response(status: .notFound, fields: [.contentType: "application/problem+json"], body: body)
    }

    @Test(
        arguments: [
            (
                #"{"title": "Gone", "detail": "Item 7 was deleted.", "token": "hunter2"}"#, "Gone: Item 7 was deleted.",
                nil
            ),
            (#"{"message": "Validation Failed", "errors": [1]}"#, "Validation Failed", nil),
            (#"{"error": "invalid_grant", "error_description": "Expired"}"#, "invalid_grant: Expired", "invalid_grant"),
            (#"{"error": {"message": "No such model", "code": "no_model"}}"#, "No such model", "no_model"),
            (#"{"error": "Password hunter3 is wrong"}"#, "Password hunter3 is wrong", nil),
            ("", nil, nil), ("{}", nil, nil), ("[1]", nil, nil), ("<html>", nil, nil), (#"{"title": ""}"#, nil, nil),
            (#"{"message": "No", "code": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}"#, "No", nil),
            (
                #"{"title": 7, "detail": null, "message": "https://a.example/?token=hunter2"}"#,
                "https://a.example/?token=REDACTED", nil
            ),
        ] as [(String, String?, String?)])
    func `The problem of a response is found, and its body is whole`(
        json: String, problem: String?, code: String?
    ) async throws {
        var routed = request
        routed.options.routeName = "items/{id}"
        let inMemory = Response(
            status: .notFound, fields: [.contentType: "application/json; charset=utf-8"], body: Body(json))
        for response in [inMemory, Self.problem([json], length: Int64(json.utf8.count)), Self.problem([json])] {
            let error = try await #require(throws: StatusError.self) {
                try await StubConnection(response).validatingStatus().send(routed)
            }
            #expect(error.problem == problem)
            #expect(error.problemCode == code)
            #expect(error.response.body.length == response.body.length)
            #expect(try await error.response.body.text(upTo: 1000) == json)
            #expect(!String(reflecting: error).contains("hunter2"))
        }
    }

    @Test func `Content of another kind is not read before the error`() async throws {
        let body = Body(replay: .once) { _ in throw CancellationError() }
        let error = try await #require(throws: StatusError.self) {
            try await StubConnection(Response(status: .notFound, fields: [.contentType: "text/html"], body: body))
                .validatingStatus().send(request)
        }
        await #expect(throws: CancellationError.self) { try await error.response.body.data(upTo: 1) }
    }

    @Test(arguments: [(302, [302], true), (302, [], false), (200, [302], false), (200, [], false)])
    func `A request may accept other statuses than the layer`(code: Int, accepted: [Int], passes: Bool) async throws {
        let connection = StubConnection(Response(status: .init(code: code))).validatingStatus(.codes([204]))
        var request = request
        request.options.acceptedStatuses = .codes(accepted)
        if passes {
            #expect(try await connection.send(request).status.code == code)
        } else {
            await #expect(throws: StatusError.self) { try await connection.send(request) }
        }
    }

    @Test func `A body that fails is still an error of the status, and fails its reader`() async throws {
        let failure = TransportError(.connectionLost, at: .body)
        let fields: HTTPFields = [.contentType: "application/json"]
        let body = Body(length: 9, replay: .once) { _ in throw failure }
        let error = try await #require(throws: StatusError.self) {
            try await StubConnection(Response(status: .notFound, fields: fields, body: body)).validatingStatus()
                .send(request)
        }
        #expect(error.problem == nil)
        await #expect(throws: TransportError.self) { try await error.response.body.data(upTo: 10) }

        let cancelled = Body(replay: .once) { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) {
            try await StubConnection(Response(status: .notFound, fields: fields, body: cancelled)).validatingStatus()
                .send(request)
        }
    }

    @Test(arguments: ["text/plain", "application/json"])
    func `Dropping the error ends the transfer`(contentType: String) async throws {
        let abandonments = Atomic(0)
        let connection = StubConnection { _ in
            let body = Body(length: 7, replay: .once) { _ in try await Body("content").open() }
            return Response(
                status: .notFound, fields: [.contentType: contentType],
                body: body.observed { event in
                    if case .abandoned = event { abandonments.add(1, ordering: .relaxed) }
                })
        }.validatingStatus()

        try await #require(throws: StatusError.self) {
            do {
                _ = try await connection.send(request)
            } catch let error as StatusError {
                #expect(abandonments.load(ordering: .relaxed) == 0)
                throw error
            }
        }
        #expect(abandonments.load(ordering: .relaxed) == 1)
    }
}
