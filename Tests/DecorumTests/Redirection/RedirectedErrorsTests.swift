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

    @Test func `A status says that another origin got no credentials`() async throws {
        let origin = try Origin("https://a.example")
        let connection = try redirecting { Response(status: .unauthorized) }
            .authenticating(with: .bearer("token"), for: origin)
            .followingRedirects()
            .validatingStatus()
        let error = await #expect(throws: StatusError.self) { try await connection.send(.get(start)) }
        #expect(error?.description.contains("https://a.example/old redirected the request there.") == true)
        #expect(error?.description.contains("It was sent without credentials, which follow no") == true)
        #expect(error?.description.contains("s3cret") == false)
        let direct = await #expect(throws: StatusError.self) { try await connection.send(.get("https://b.example/")) }
        #expect(direct?.description.contains("`authenticating(with:for:)` has none for this origin") == true)
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
