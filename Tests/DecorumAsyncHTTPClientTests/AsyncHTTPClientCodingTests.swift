#if AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTestSupport
import Testing

@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientCodingTests {
    @Test func `The layer decodes and encodes all content`() async throws {
        let connection = AsyncHTTPClientConnection()
        try await CodingChecks(connection).checkAnswers()
        try await CodingChecks(connection).checkTruncatedMessage()
        try await CodingChecks(connection).checkTruncatedCoding()
        try await CodingChecks(connection).checkBomb()
        try await CodingChecks(connection).checkRequests()
    }
}
#endif
