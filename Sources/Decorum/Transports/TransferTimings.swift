import Synchronization

/// How long each part of an exchange took, each counted from its start.
///
/// A part that did not happen, or that the transport does not know, is nil.
public struct TransferTimings: Sendable {
    /// Until the addresses of the host were known; nil on a connection that was used before.
    public var nameLookup: Duration?
    /// Until the connection to the host or its proxy was made; nil on a connection that was used before.
    public var connect: Duration?
    /// Until the TLS handshake was over; nil without TLS, and on a connection that was used before.
    public var handshake: Duration?
    /// Until the first byte of the response had arrived.
    public var firstByte: Duration?
    /// Whether the connection had carried a request before.
    public var isConnectionReused: Bool?
    /// The version of HTTP that the response came with, as in `HTTP/1.1` or `HTTP/2`.
    public var protocolVersion: String?
    /// The IP address of the server or the proxy; nil for a socket of the file system.
    public var remoteAddress: String?
    private let end: TransferEnd

    /// Creates timings.
    ///
    /// - Parameter total: The duration of the whole exchange; nil before its end.
    public init(total: Duration? = nil) {
        self.init(end: TransferEnd(total))
    }

    init(end: TransferEnd) {
        self.end = end
    }

    /// Until the last byte of the response had arrived; nil before that, and when the exchange has failed.
    public var total: Duration? { end.total }
}

/// The end of an exchange, which all copies of its timings share.
final class TransferEnd: Sendable {
    private let microseconds: Atomic<Int64>

    init(_ total: Duration? = nil) {
        microseconds = Atomic(total.map(Self.microseconds) ?? -1)
    }

    var total: Duration? {
        let value = microseconds.load(ordering: .relaxed)
        return value < 0 ? nil : .microseconds(value)
    }

    func end(after total: Duration) {
        microseconds.store(Self.microseconds(total), ordering: .relaxed)
    }

    private static func microseconds(_ duration: Duration) -> Int64 {
        max(0, Int64(duration.bounded / .microseconds(1)))
    }
}

extension ResponseMetadata {
    /// How long each part of the exchange took; nil if the transport does not measure it.
    public var timings: TransferTimings? {
        get { self[TransferTimingsKey.self] }
        set { self[TransferTimingsKey.self] = newValue }
    }
}

private enum TransferTimingsKey: ResponseMetadataKey {
    static let defaultValue: TransferTimings? = nil
}
