import Decorum
import DecorumTestSupport
import Testing

extension IsolatedTests {
    /// One stack over each transport gives the same bytes.
    @Suite(.timeLimit(.minutes(3))) struct ContentCodingTests {
        #if os(Linux)
        @Test func `Over libcurl, all is decoded by the layer`() async throws {
            let connection = try CurlConnection()
            try await CodingChecks(connection).checkAnswers()
            try await CodingChecks(connection).checkTrailers()
            try await CodingChecks(connection).checkTruncatedMessage()
            try await CodingChecks(connection).checkTruncatedCoding()
            try await CodingChecks(connection).checkBomb()
            try await CodingChecks(connection).checkRequests()
        }
        #endif

        #if canImport(FoundationNetworking)
        @Test func `Over URLSession, the same comes decoded from beneath`() async throws {
            let checks = try CodingChecks(URLSessionConnection(), undecodable: ["items.members.gz", "items.deflate"])
            try await checks.checkAnswers()
            try await checks.checkTruncatedMessage()
            try await checks.checkRequests()
        }
        #endif
    }
}
