#if AsyncHTTPClient
import AsyncHTTPClient
import NIOCore
import NIOHTTP2

/// The HTTP/2 connections of one client, of which those that a server has fallen silent on are taken out of use.
///
/// AsyncHTTPClient ends the stream that has timed out and goes on to send on its connection, be it dead or not.
final class HTTP2Connections: Sendable {
    private struct Activity {
        let channel: any Channel
        var lastReceived: ContinuousClock.Instant
        var openStreams = 0
    }

    private let clock: any DatedClock
    private let activities = Locked<[ObjectIdentifier: Activity]>([:])

    init(clock: any DatedClock) {
        self.clock = clock
    }

    /// Makes the configuration of a client whose HTTP/2 connections are these.
    func watching(_ configuration: HTTPClient.Configuration) -> HTTPClient.Configuration {
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
                try operations.addHandler(HTTP2StreamHandler(), position: .after(codec))
            }
            guard let streamInitializer else { return isReady }
            return isReady.flatMap { streamInitializer(channel) }
        }
        return configuration
    }

    func add(_ channel: any Channel) {
        let now = clock.now
        activities.withLock { $0[ObjectIdentifier(channel)] = Activity(channel: channel, lastReceived: now) }
    }

    func remove(_ channel: any Channel) {
        _ = activities.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    func received(on channel: any Channel) {
        let now = clock.now
        activities.withLock { $0[ObjectIdentifier(channel)]?.lastReceived = now }
    }

    func countStreams(on channel: any Channel, by number: Int) {
        activities.withLock { $0[ObjectIdentifier(channel)]?.openStreams += number }
    }

    /// Takes out of use those on which a stream is open and nothing was received for so long, and then says so.
    ///
    /// Streams that are open go on, since each has a time of its own.
    func retire(silentFor duration: Duration, then completion: @escaping @Sendable () -> Void) {
        let latest = clock.now.advanced(by: .zero - duration)
        let channels = activities.withLock { activities in
            activities.values.filter { $0.openStreams > 0 && $0.lastReceived <= latest }.map(\.channel)
        }
        retire(channels[...], then: completion)
    }

    private func retire(_ channels: ArraySlice<any Channel>, then completion: @escaping @Sendable () -> Void) {
        guard let channel = channels.first else {
            completion()
            return
        }
        channel.eventLoop.execute {
            channel.pipeline.fireUserInboundEventTriggered(HTTP2ConnectionHandler.Retirement())
            self.retire(channels.dropFirst(), then: completion)
        }
    }
}
#endif
