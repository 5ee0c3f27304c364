#if AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTestSupport
import Testing

/// Requests that meet the end of a pooled connection, with retries around the transport.
@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientDeadConnectionTests {
    private let checks: DeadConnectionChecks

    init() throws {
        checks = try DeadConnectionChecks(of: AsyncHTTPClientConnection())
    }

    @Test func `A safe request is sent again at once, without the budget`() async throws {
        try await checks.checkSafeRequests()
    }

    @Test func `A POST that a server may have processed is sent once`() async throws {
        try await checks.checkUnsafeRequests()
    }

    @Test func `The end of a new connection is a failure of the server`() async throws {
        try await checks.checkNewConnections()
    }

    @Test func `A response that has begun is not asked for again`() async throws {
        try await checks.checkPartialResponses()
    }

    @Test func `When a whole pool dies, each of many calls at once gets its answer`() async throws {
        try await checks.checkManyAtOnce()
    }
}
#endif
