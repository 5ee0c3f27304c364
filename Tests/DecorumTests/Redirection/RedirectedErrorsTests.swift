import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The errors of a call that was redirected, or sent without credentials, say so.
@Suite(.timeLimit(.minutes(3))) struct RedirectedErrorsTests {
    private let start = "https://a.example/old?key=s3cret"

    /// Redirects `/old` to a URL, and answers there with the response or the error of a closure.
    private func redirecting(
        to target: String = "https://b.example/new", _ answer: @escaping @Sendable () throws -> Response
    ) -> StubConnection {
        StubConnection { request in
            guard request.head.path?.hasPrefix("/old") == true else { return try answer() }
            return Response(status: .movedPermanently, fields: [.location: target])
        }
    }

    @Test func `The failure of a hop names the URL that redirected there`() async throws {
        let stub = redirecting { throw TransportError(.connectionRefused, at: .connecting) }
        let error = await #expect(throws: TransportError.self) {
            try await stub.followingRedirects().send(.get(start))
        }
        #expect(error?.redirectedFrom?.absoluteString == start)
        #expect(error?.description.contains("https://a.example/old redirected the request there.") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `A circle and too many redirections name the request and its route`() async throws {
        let stub = StubConnection { request in
            let target = request.head.path?.hasPrefix("/old") == true ? "/new?key=s3cret" : "/old?key=s3cret"
            return Response(status: .found, fields: [.location: target])
        }
        var request = try Request.post(start, body: "x")
        request.options.routeName = "items/{id}"
        let loop = try await #require(throws: RedirectionLoopError.self) {
            try await stub.followingRedirects().send(request)
        }
        #expect(
            loop.description
                == "POST https://a.example/old (route “items/{id}”) was redirected in a circle: redirection 3, by "
                + "https://a.example/old, leads to https://a.example/new, which was requested before. "
                + "Some servers redirect until they get their cookie or a credential.")
        #expect(loop.method == .post && loop.routeName == "items/{id}")
        request.options.routeName = nil
        let many = try await #require(throws: RedirectionLimitError.self) {
            try await stub.followingRedirects(upTo: 1).send(request)
        }
        #expect(
            many.description
                == "POST https://a.example/old was redirected more than once, lastly by https://a.example/new. "
                + "Raise `followingRedirects(upTo:)` if so many are intended.")
        #expect(many.method == .post && many.routeName == nil)
    }

    @Test func `A status says that another origin got no credentials`() async throws {
        let origin = try Origin("https://a.example")
        let connection = try redirecting { Response(status: .unauthorized) }
            .authenticating(with: .bearer("token"), for: origin)
            .followingRedirects()
            .validatingStatus()
        let error = await #expect(throws: StatusError.self) { try await connection.send(.get(start)) }
        #expect(
            error?.description
                == "GET https://b.example/new was answered with the status 401. "
                + "https://a.example/old redirected the request there. "
                + "It was sent without credentials, which follow no redirection by another origin or to one.")
        let direct = await #expect(throws: StatusError.self) { try await connection.send(.get("https://b.example/")) }
        #expect(
            direct?.description
                == "GET https://b.example/ was answered with the status 401. "
                + "It was sent without credentials: `authenticating(with:for:)` has none for this origin.")
    }

    @Test func `A status says nothing of credentials that the caller has set`() async throws {
        let connection = try StubConnection { _ in Response(status: .unauthorized) }
            .authenticating(with: .bearer("token"), for: Origin("https://a.example"))
        for url in ["https://a.example/", "https://b.example/"] {
            let request = try Request.get(url, fields: [.authorization: "Bearer mine"])
            let metadata = try await connection.send(request).metadata
            #expect(!metadata.lacksCredentials && !metadata.refusesCredentials)
        }
        #expect(try await !connection.send(.get("https://a.example/")).metadata.lacksCredentials)
        #expect(try await connection.send(.get("https://b.example/")).metadata.lacksCredentials)
        var request = try Request.get("https://b.example/")
        request.options.skipsAuthentication = true
        #expect(try await !connection.send(request).metadata.lacksCredentials)
    }

    @Test func `A remembered redirection does not hide a try`() async throws {
        let memory = PermanentRedirections()
        let clock = VirtualClock()
        let connection = redirecting(to: "/new") {
            var response = Response(status: .serviceUnavailable)
            response.metadata.attempts = 3
            return response
        }
        .followingRedirects(remembering: memory, clock: clock)
        .validatingStatus()
        let request = try Request.get(start)
        // Answers of 5xx let it forget, so that the second call is asked with an own memory of the first hop.
        for _ in 1...2 {
            memory.learn(
                HTTPResponse(status: .movedPermanently, headerFields: [.location: "/new"]), answering: request,
                at: clock)
            let error = await #expect(throws: StatusError.self) { try await connection.send(request) }
            #expect(error?.description.contains("The request was tried 3 times.") == true)
        }
    }

    @Test func `The words of a server are found in a stored response too`() async throws {
        let fields: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=60"]
        let connection = StubConnection { _ in
            let body = Body(replay: .fromStart) { _ in try await Body(#"{"message": "gone"}"#).open() }
            return Response(status: .notFound, fields: fields, body: body)
        }
        .validatingStatus()
        let error = try await #require(throws: StatusError.self) { try await connection.send(.get(start)) }
        #expect(error.problem == "gone")
        #expect(try await error.response.body.text(upTo: 100) == #"{"message": "gone"}"#)
    }

    @Test func `The reader of a body that failed at its opening gets the error each time`() async throws {
        struct Broken: Error {}
        let body = Body(replay: .once) { _ in throw Broken() }
        var reader = try await body.readingAhead(within: .seconds(1), on: VirtualClock()).body.open()
        for _ in 1...2 {
            do {
                _ = try await reader.next()
                Issue.record("The body seems to have ended.")
            } catch {
                #expect(error is Broken)
            }
        }
    }
}
