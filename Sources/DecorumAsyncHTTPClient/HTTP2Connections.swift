#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP2

/// The HTTP/2 connections of one client, which are taken out of use when nothing is received on them any more.
///
/// After a timeout, AsyncHTTPClient ends the stream and sends later requests on the same connection, even a dead one.
final class HTTP2Connections: Sendable {
    private struct Activity {
        let channel: any Channel
        var authorities: Set<String> = []
        var lastReceived: ContinuousClock.Instant
        var openStreams = 0

        init(_ channel: any Channel, since now: ContinuousClock.Instant) {
            self.channel = channel
            lastReceived = now
        }
    }

    private let clock: any DatedClock
    private let activities = NIOLockedValueBox<[ObjectIdentifier: Activity]>([:])

    init(clock: any DatedClock) {
        self.clock = clock
    }

    /// Returns a configuration whose client adds its HTTP/2 connections to these.
    func observing(_ configuration: HTTPClient.Configuration) -> HTTPClient.Configuration {
        var configuration = configuration
        let connectionInitializer = configuration.http2ConnectionDebugInitializer
        configuration.http2ConnectionDebugInitializer = { channel in
            let isReady = channel.eventLoop.makeCompletedFuture {
                let operations = channel.pipeline.syncOperations
                let codec = try operations.handler(type: NIOHTTP2Handler.self)
                try operations.addHandler(HTTP2ConnectionHandler(self, channel), position: .after(codec))
            }
            guard let connectionInitializer else { return isReady }
            return isReady.flatMap { connectionInitializer(channel) }
        }
        let streamInitializer = configuration.http2StreamChannelDebugInitializer
        configuration.http2StreamChannelDebugInitializer = { channel in
            let isReady = channel.eventLoop.makeCompletedFuture {
                let operations = channel.pipeline.syncOperations
                let codec = try operations.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
                let stream = HTTP2StreamHandler()
                try operations.addHandler(stream, position: .after(codec))
                try operations.addHandler(HTTP2StreamEventFilter(of: stream), position: .last)
            }
            guard let streamInitializer else { return isReady }
            return isReady.flatMap { streamInitializer(channel) }
        }
        return configuration
    }

    func add(_ channel: any Channel) {
        let now = clock.now
        activities.withLockedValue { $0[ObjectIdentifier(channel)] = Activity(channel, since: now) }
    }

    func remove(_ channel: any Channel) {
        _ = activities.withLockedValue { $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// Records that a request for an authority is sent on a connection.
    func add(authority: String, of channel: any Channel) {
        _ = activities.withLockedValue { $0[ObjectIdentifier(channel)]?.authorities.insert(authority) }
    }

    func received(on channel: any Channel) {
        let now = clock.now
        activities.withLockedValue { $0[ObjectIdentifier(channel)]?.lastReceived = now }
    }

    func countStreams(on channel: any Channel, by number: Int) {
        activities.withLockedValue { $0[ObjectIdentifier(channel)]?.openStreams += number }
    }

    /// Takes the silent connections to one authority out of use, and then calls `completion`.
    ///
    /// A connection is silent when a stream is open on it and nothing was received for `duration`. The streams that are
    /// open go on, because each has its own idle timeout.
    ///
    /// - Parameters:
    ///   - authority: The host and port of requests, as in their `Host` field.
    ///   - duration: The time without a byte from the server.
    ///   - completion: Called when no new stream is opened on these connections, maybe on an event loop.
    func retire(
        servingAuthority authority: String, silentFor duration: Duration,
        then completion: @escaping @Sendable () -> Void
    ) {
        let latest = clock.now.advanced(by: .zero - duration)
        let channels = activities.withLockedValue { activities in
            activities.values.filter { activity in
                activity.openStreams > 0 && activity.lastReceived <= latest && activity.authorities.contains(authority)
            }.map(\.channel)
        }
        guard !channels.isEmpty else {
            completion()
            return
        }
        let remaining = NIOLockedValueBox(channels.count)
        for channel in channels {
            channel.eventLoop.execute {
                channel.pipeline.fireUserInboundEventTriggered(HTTP2ConnectionHandler.Retirement())
                let isLast = remaining.withLockedValue { remaining in
                    remaining -= 1
                    return remaining == 0
                }
                if isLast { completion() }
            }
        }
    }
}
#endif
