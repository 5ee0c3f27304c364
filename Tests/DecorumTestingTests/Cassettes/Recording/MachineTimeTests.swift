import Decorum
import DecorumTesting
import Testing

/// A server needs its time while a cassette is recorded, also where the clock of the test skips waits.
@Suite struct MachineTimeTests {
    @Test(arguments: [CassetteMode.once, .rewrite, .live])
    func `A server has the whole time of a request, although the clock of the test stands still`(mode: CassetteMode)
        async throws
    {
        let folder = try TemporaryFolder()
        let clock = ImpatientClock()
        let start = ContinuousClock.now
        let stub = StubConnection(Response(status: .ok))
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode)
        let connection = CassetteConnection(cassette, recording: stub)
            .limitingTime(TimePolicy(call: .seconds(30)), clock: clock)
        _ = try await connection.send(.get("https://example.com/"))
        let deadline = try #require(stub.requests.first?.options.deadline)
        #expect(deadline >= start + .seconds(30))
    }
}
