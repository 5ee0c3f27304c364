extension Connection {
    /// The worst case of one call through the connection, computed from the numbers that its layers declare.
    ///
    /// ```swift
    /// let bounds = connection.bounds
    /// print(bounds.requests)  // One call sends at most 210 requests over the network: 21 by followingRedirects, …
    /// print(bounds.duration)  // One call takes at most 31.00 s until the head of its response, …
    /// print(bounds.bytes)  // One call holds at most 64.6 MiB of content in memory: 64 KiB by validatingStatus, …
    /// ```
    public var bounds: Bounds { Bounds(of: layers) }
}

/// The worst case of one call through a stack: its requests over the network, its time, and the bytes that it holds.
///
/// The bounds follow from ``Layer/sends``, ``Layer/longestWait``, ``Layer/longestReading``, ``Layer/timeLimit`` and
/// ``Layer/bytesHeld``. They hold as far as each layer keeps what it declares, as `DecoratorLaw` of `DecorumConformance` checks,
/// and ends its work at the deadline of the request. A layer that declares nothing may do anything: ``Layer/isDeclared``.
/// Three things are not counted:
///
/// - requests in the background, such as the validation of a stale response,
/// - the time in closures and observers of the app, and the bytes that the app itself holds,
/// - other values that the options of a request ask for, such as its own ``RequestOptions/retryPolicy``.
public struct Bounds: Sendable, Hashable {
    /// The number of requests over the network.
    public let requests: Limit<Int>
    /// The time from the call until the head of its response, or until its failure.
    ///
    /// A body may take longer: ``TimePolicy/body`` bounds it, and ``TimePolicy/idle`` each wait for its next byte.
    public let duration: Limit<Duration>
    /// The number of bytes of content that the layers hold in memory at the same time.
    public let bytes: Limit<Int>

    /// Computes the worst case.
    ///
    /// - Parameter layers: The layers, outermost first.
    public init(of layers: [Layer]) {
        requests = Limit(ofRequestsIn: layers)
        duration = Limit(ofDurationIn: layers)
        bytes = Limit(ofBytesIn: layers)
    }

    /// The largest value, or the layers that set none.
    public struct Limit<Value: Sendable & Hashable>: Sendable, Hashable, CustomStringConvertible {
        /// The largest value; nil where there is none.
        public let value: Value?
        /// The layers that make up the largest value, or that set none, outermost first; a layer that declares nothing sets
        /// none.
        public let layers: [Layer]
        /// One sentence with the value and the layers.
        public let description: String
    }
}

extension Bounds: CustomStringConvertible {
    /// One sentence for each of the bounds, on lines of their own.
    public var description: String { "\(requests)\n\(duration)\n\(bytes)" }
}

extension [Layer] {
    /// The names of layers that set no largest value.
    var faults: String {
        map { $0.name + ($0.isDeclared ? "" : " (which declares nothing)") }.listed
    }
}

extension Layer.Bound {
    /// The value; nil where there is no bound.
    var value: Value? {
        if case .atMost(let value) = self { value } else { nil }
    }
}

extension Sequence<String> {
    /// The members as in “a, b and c”.
    var listed: String {
        let members = Array(self)
        guard let last = members.last, members.count > 1 else { return members.first ?? "" }
        return members.dropLast().joined(separator: ", ") + " and " + last
    }
}
