#if AsyncHTTPClient
import DecorumTesting
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import DecorumAsyncHTTPClient

/// The connections of one client, on event loops that run when the test says so.
@Suite struct HTTP2ConnectionsTests {
    let clock = VirtualClock()
    let connections: HTTP2Connections

    init() {
        connections = HTTP2Connections(clock: clock)
    }

    /// Adds a connection with an open stream.
    private func channel(for authority: String) -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        connections.add(channel)
        connections.add(authority: authority, of: channel)
        connections.countStreams(on: channel, by: 1)
        return channel
    }

    @Test func `Connections are retired at the same time, whichever event loop runs first`() {
        let channels = [channel(for: "a.example"), channel(for: "a.example"), channel(for: "b.example")]
        clock.advance(by: .seconds(60))
        let isDone = NIOLockedValueBox(false)

        connections.retire(servingAuthority: "a.example", silentFor: .seconds(60)) {
            isDone.withLockedValue { $0 = true }
        }

        channels[1].embeddedEventLoop.run()
        #expect(!isDone.withLockedValue { $0 })
        channels[0].embeddedEventLoop.run()
        // The event loop of the other server's connection has not run.
        #expect(isDone.withLockedValue { $0 })
    }

    @Test func `Only silent connections with an open stream to the authority are retired`() {
        let idle = channel(for: "a.example")
        connections.countStreams(on: idle, by: -1)
        let other = channel(for: "a.example:8443")
        clock.advance(by: .seconds(59))
        let active = channel(for: "a.example")
        connections.received(on: active)
        clock.advance(by: .seconds(1))
        let isDone = NIOLockedValueBox(false)

        connections.retire(servingAuthority: "a.example", silentFor: .seconds(60)) {
            isDone.withLockedValue { $0 = true }
        }

        // At once, since no event loop has anything to do.
        #expect(isDone.withLockedValue { $0 })
        connections.remove(other)
    }
}
#endif
