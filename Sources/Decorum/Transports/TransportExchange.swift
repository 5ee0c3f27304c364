public import HTTPTypes
import Synchronization

/// A request that a transport has under way, with its response.
///
/// A transport of yours has a class for it, which takes part in what all transports promise: a ``TimeLimitWatch`` ends an
/// exchange at its ``TransferLimits``, and a ``TransferLease`` ends one whose response was dropped. Either may call at any
/// moment, from any thread, and after the exchange has ended: only the first end counts.
///
/// The time limit is that of ``TransferLimits/next(after:at:)``. At a limit, the exchange fails with
/// ``TransferLimits/error(at:_:)``.
public protocol TransportExchange: TimeLimited {
    /// Ends the exchange since its response is no longer wanted, closes its connection if bytes are outstanding, and
    /// drops the bytes that have arrived.
    func cancel()
}

/// Cancels an exchange when the last reference to the lease is gone.
///
/// A ``Body`` owns its transfer: the readers of a response hold the lease and reach the exchange through it, while the
/// network's side holds the exchange alone. Dropping the response or its reader then ends the transfer.
///
/// ```swift
/// let lease = TransferLease(exchange)
/// let body = Body(length: head.contentLength, replay: .once) { _ in ExchangeReader(lease: lease) }
/// ```
public final class TransferLease<Exchange: TransportExchange>: Sendable {
    /// The exchange that the lease keeps going.
    public let exchange: Exchange

    /// Creates a lease, which cancels the exchange when it is gone.
    public init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    deinit {
        exchange.cancel()
    }
}

/// Counts the transfers that a transport has under way, and refuses new ones once the transport was closed.
///
/// This is the part of ``ClosableConnection/close()`` that does not depend on the network. A transport calls ``begin()`` in
/// `send(_:)` before anything is sent, ``end()`` once however the transfer ends, and ``close()`` in its own `close()`, after
/// which it shuts down the network if ``isOver`` says so.
public final class OpenTransfers: Sendable {
    private struct State: ~Copyable {
        var count = 0
        var isClosed = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
    }

    private let state = Locked(State())

    /// Creates a count of zero for a transport that is open.
    public init() {}

    /// Counts a transfer that begins; one ``end()`` follows each.
    ///
    /// - Throws: ``TransportError`` with the code ``TransportError/Code/closed`` when the transport was closed.
    public func begin() throws(TransportError) {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return !state.isClosed
        }
        guard isOpen else { throw TransportError(.closed, at: .connecting) }
    }

    /// Counts a transfer that has ended.
    public func end() {
        let waiters = state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Refuses new transfers, and waits until those under way have ended or the caller is cancelled.
    public func close() async {
        let number = state.withLock { state in
            state.isClosed = true
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.count > 0, !Task.isCancelled else { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    /// Whether the transport was closed and no transfer is under way.
    public var isOver: Bool {
        state.withLock { $0.isClosed && $0.count == 0 }
    }
}

/// The limits in time of one exchange of a transport, which follow from the options of its request.
///
/// ```swift
/// let limits = try TransferLimits(request.options, idleTimeout: .seconds(60))
/// try limits.check(at: clock.now, for: Origin(request.head))
/// ```
///
/// Until the head of the response has arrived, an exchange ends at ``RequestOptions/deadline``, and after that at
/// ``RequestOptions/bodyDeadline``. At any time it ends after the idle timeout. The earliest of them counts.
public struct TransferLimits: Sendable, Hashable {
    /// The longest idle timeout: seven days, so that instants do not overflow.
    package static let longestIdleTimeout: Duration = .seconds(7 * 86_400)

    /// The longest time without a byte sent or received.
    public let idleTimeout: Duration
    /// The instant until which the head must have arrived; nil without such a limit.
    public let deadline: ContinuousClock.Instant?
    private let bodyDeadline: ContinuousClock.Instant?
    /// Whether the deadline of the body is the one until which the head must have arrived.
    private let isBodyFirst: Bool

    /// Creates the limits of an exchange by the options of its request, and by an idle timeout in case that they have none.
    ///
    /// - Throws: ``InvalidRequestError`` when the idle timeout is negative; a longer one than seven days counts as seven.
    public init(_ options: borrowing RequestOptions, idleTimeout: Duration) throws(InvalidRequestError) {
        self.idleTimeout = min(options.idleTimeout ?? idleTimeout, Self.longestIdleTimeout)
        bodyDeadline = options.bodyDeadline
        isBodyFirst = options.bodyDeadline.map { body in options.deadline.map { body < $0 } ?? true } ?? false
        // A body whose deadline passes before its head is hopeless from then on.
        deadline = options.deadline.map { min($0, options.bodyDeadline ?? $0) } ?? options.bodyDeadline
        guard self.idleTimeout >= .zero else {
            throw InvalidRequestError(.negativeNumber, "The idle timeout is negative.")
        }
    }

    /// Checks before anything is sent that there is time left, at the current instant.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/deadlineExceeded`` or ``TransportError/Code/timedOut``.
    public func check(
        at now: ContinuousClock.Instant, for origin: @autoclosure () throws -> Origin?
    ) throws(TransportError) {
        var error: TransportError
        if let deadline, deadline <= now {
            error = deadlineError(at: .connecting)
        } else if idleTimeout == .zero {
            error = TransportError(idleFor: idleTimeout, at: .connecting)
        } else {
            return
        }
        error.origin = try? origin()
        throw error
    }

    /// The limit that an exchange reaches next.
    ///
    /// - Parameters:
    ///   - progress: The instant of the last byte sent or received. While the exchange does not wait for the server, such
    ///     as for a slow reader of the response, it is the current one.
    ///   - stage: The progress of the exchange.
    /// - Returns: The limit; of two at one instant, the deadline.
    public func next(after progress: ContinuousClock.Instant, at stage: TransportError.Stage) -> TimeLimit {
        let idle = progress.advanced(by: idleTimeout)
        guard let deadline = stage == .body ? bodyDeadline : deadline, deadline <= idle else {
            return TimeLimit(at: idle, because: .idle)
        }
        return TimeLimit(at: deadline, because: .deadline)
    }

    /// The error with which an exchange ends at a limit, at a stage of its progress.
    public func error(at limit: TimeLimit, _ stage: TransportError.Stage) -> TransportError {
        switch limit.cause {
        case .idle: TransportError(idleFor: idleTimeout, at: stage)
        case .deadline: deadlineError(at: stage)
        }
    }

    /// The error for the deadline, which is that of the body if no earlier one is set.
    private func deadlineError(at stage: TransportError.Stage) -> TransportError {
        var error = TransportError(.deadlineExceeded, at: stage)
        if stage == .body || isBodyFirst { error.deadlineScope = .body }
        return error
    }
}

extension HTTPResponse {
    /// The number of bytes that the head announces for the content; nil if it announces no length, or has a
    /// transfer coding (RFC 9112, section 6.3).
    ///
    /// It is the length of the content as it is transferred, so the response to a HEAD request, and a 304, have one
    /// without having content. Ask ``HTTPTypes/HTTPFields/isContentLengthAmbiguous`` first whether it can be relied upon.
    public var contentLength: Int64? {
        guard !headerFields.has(.transferEncoding), headerFields.has(.contentLength),
            let value = headerFields.firstValue(of: .contentLength)
        else { return nil }
        return Int64(value) ?? Int64(value.prefix { $0 != "," })
    }
}

extension HTTPFields {
    /// Whether two recipients may disagree about where the content ends (RFC 9112, section 6.3).
    ///
    /// That is so where a length is not a number that fits into 64 bits, where there are two different lengths, and where
    /// there is a transfer coding beside a length. On a connection that is used again, the end of such a response and the
    /// start of the next one are unknown. A transport therefore fails the response with
    /// ``TransportError/Code/malformedResponse`` and closes its connection.
    public var isContentLengthAmbiguous: Bool {
        guard contains(.contentLength), let value = self[.contentLength] else { return false }
        guard !contains(.transferEncoding) else { return true }
        // One number, as nearly every response has.
        if Self.isDecimal(value[...]) { return Int64(value) == nil }
        let lengths = Set(
            value.split(separator: ",", omittingEmptySubsequences: false).map { part in
                let digits = part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                let rest = part[digits.endIndex...]
                return Self.isDecimal(digits) && rest.allSatisfy { $0 == " " || $0 == "\t" } ? Int64(digits) : nil
            })
        return lengths.count != 1 || lengths.contains(nil)
    }

    private static func isDecimal(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}

/// How long each part of an exchange took, each counted from its start.
///
/// A part that did not happen, or that the transport does not know, is nil.
public struct TransferTimings: Sendable, Hashable, Codable {
    /// Until the pool had a connection for the exchange, or room for a new one; zero if it did not wait.
    public var queued: Duration?
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
    /// The network that the exchange went over.
    public var network: NetworkState?
    /// Until the last byte of the response had arrived; nil before that, and when the exchange has failed.
    public internal(set) var total: Duration?

    /// Creates timings.
    ///
    /// - Parameter total: The duration of the whole exchange; nil before its end.
    public init(total: Duration? = nil) {
        self.total = total.map { max(.zero, $0.bounded) }
    }
}

/// The timings of an exchange that is under way, which all copies of its response share.
package final class RunningTimings: Sendable {
    private let state: Locked<(timings: TransferTimings, toldTotal: Duration?)>

    package init(_ timings: TransferTimings = TransferTimings()) {
        state = Locked((timings, nil))
    }

    package var timings: TransferTimings {
        get { state.withLock { $0.timings } }
        set { state.withLock { $0.timings = newValue } }
    }

    /// Takes the parts that a platform tells at the end of the exchange; their total counts from ``end(after:)`` on.
    func complete(with parts: TransferTimings?) {
        guard let parts else { return }
        state.withLock { state in
            let firstByte = parts.firstByte ?? state.timings.firstByte
            state = (parts, parts.total)
            (state.timings.firstByte, state.timings.total) = (firstByte, nil)
        }
    }

    package func end(after total: Duration) {
        state.withLock { $0.timings.total = $0.toldTotal ?? total }
    }
}

extension ResponseMetadata {
    /// How long each part of the exchange took; nil if the transport does not measure it.
    public var timings: TransferTimings? {
        get { runningTimings?.timings }
        set { runningTimings = newValue.map { RunningTimings($0) } }
    }

    package var runningTimings: RunningTimings? {
        get { self[RunningTimingsKey.self] }
        set { self[RunningTimingsKey.self] = newValue }
    }
}

private enum RunningTimingsKey: ResponseMetadataKey { static let defaultValue: RunningTimings? = nil }
