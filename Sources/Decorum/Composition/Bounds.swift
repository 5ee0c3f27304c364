extension Connection {
    /// The worst case of one call through the connection, computed from the numbers that its layers declare.
    ///
    /// ```swift
    /// let bounds = connection.bounds
    /// print(bounds.requests)  // One call sends at most 168 requests over the network: 21 by followingRedirects, …
    /// print(bounds.duration)  // One call takes at most 31.00 s until the head of its response: …
    /// print(bounds.bytes)  // One call holds at most 65 MiB of content in memory: 64 KiB by validatingStatus, …
    /// ```
    public var bounds: Bounds { Bounds(of: layers) }
}

/// The worst case of one call through a stack: its requests over the network, its time, and the bytes that it holds.
///
/// The bounds follow from ``Layer/sending``, ``Layer/time`` and ``Layer/memory``. They hold as far as each layer keeps what
/// it declares, as `DecoratorLaw` of `DecorumConformance` checks, and ends its work at the deadline of the request. A layer that
/// declares nothing may do anything: ``Layer/isDeclared``. Three things are not counted:
///
/// - requests in the background, such as the validation of a stale response,
/// - the time in closures and observers of the app, and the bytes that the app itself holds,
/// - other values that the options of a request ask for, such as its own ``RequestOptions/retryPolicy``.
public struct Bounds: Sendable, Hashable, CustomStringConvertible {
    /// The number of requests over the network.
    public let requests: Limit<Int>
    /// The time from the call until the head of its response, or until its failure.
    ///
    /// A body may take longer: ``TimePolicy/body`` bounds it, and ``TimePolicy/idle`` each wait for its next byte.
    public let duration: Limit<Duration>
    /// The number of bytes of content that the layers hold in memory at the same time.
    public let bytes: Limit<Int>

    /// The largest value, or the layers that set none.
    public struct Limit<Value: Sendable & Hashable>: Sendable, Hashable, CustomStringConvertible {
        /// The largest value; nil for any.
        public let value: Value?
        /// The layers that make up the largest value, or that set none, outermost first.
        public let layers: [Layer]
        /// One sentence with the value and the layers.
        public let description: String
    }

    package init(of layers: [Layer]) {
        let requests = Worst<Int>.requests(of: layers[...])
        self.requests = requests.limit(
            to: "send", any: "number of requests over the network",
            most: requests.value.map { "\($0) request\($0 == 1 ? "" : "s") over the network" },
            parts: requests.causes.map { "\($0.sending.times.upperBound) by \($0.name)" })
        let duration = Worst<Duration>.duration(of: layers[...], within: nil)
        self.duration = duration.limit(
            to: "take", any: "time until the head of its response",
            most: duration.value.map { "\($0.shortText) until the head of its response" },
            parts: duration.causes.map(\.name))
        let bytes = Worst<Int>.bytes(of: layers.flatMap(\.withBranches))
        self.bytes = bytes.limit(
            to: "hold", any: "number of bytes in memory",
            most: bytes.value.map { "\($0.byteText) of content in memory" },
            parts: bytes.causes.map { "\($0.memory.bytes.value?.byteText ?? "") by \($0.name)" })
    }

    /// One sentence for each of the bounds, on lines of their own.
    public var description: String { "\(requests)\n\(duration)\n\(bytes)" }
}

/// The largest value, which is nil for any, and the layers that make it up or set none.
struct Worst<Value: Sendable & Hashable & AdditiveArithmetic> {
    var value: Value?
    var causes: [Layer] = []

    fileprivate func limit(to verb: String, any: String, most: String?, parts: [String]) -> Bounds.Limit<Value> {
        let faults = causes.map { $0.name + ($0.isDeclared ? "" : " (which declares nothing)") }.listed
        let description =
            if let most {
                "One call \(verb)s at most \(most)\(parts.isEmpty ? "" : ": ")\(parts.listed)."
            } else {
                "One call may \(verb) any \(any), because of \(faults)."
            }
        return Bounds.Limit(value: value, layers: causes, description: description)
    }

    private mutating func add(_ other: Worst) {
        switch (value, other.value) {
        case (let one?, let two?): (value, causes) = (one + two, causes + other.causes)
        case (nil, nil): causes += other.causes
        case (nil, _): break
        case (_, nil): self = other
        }
    }
}

extension Worst<Int> {
    /// A larger number of requests counts as any number, so that no sum and no product overflows.
    private static var most: Int { Int(Int32.max) }

    /// The layers whose requests count; each other one counts as if it sent once.
    enum Counted {
        case all, multiplying, inside

        func contains(_ layer: Layer) -> Bool {
            switch self {
            case .all: true
            case .multiplying: layer.multiplies
            case .inside: layer.role != .transport || layer.multiplies
            }
        }
    }

    /// The number of requests over the network: the product along the stack, with the branches of a layer added up.
    static func requests(of layers: ArraySlice<Layer>, counting counted: Counted = .all) -> Worst {
        guard let layer = layers.first else { return Worst(value: 0) }
        let rest = layers.dropFirst()
        // A transport sends over the network, and a layer that only has branches sends to these.
        var worst = rest.isEmpty && layer.branches.isEmpty ? Worst(value: 1) : requests(of: rest, counting: counted)
        for branch in layer.branches { worst.add(requests(of: branch.layers[...], counting: counted)) }
        guard counted.contains(layer) else { return worst }
        let times = layer.isDeclared ? layer.sending.times.upperBound : .max
        switch worst.value {
        case 0 where layer.isDeclared: return worst
        case _ where times == 0: return Worst(value: 0)
        case _ where times == 1: return worst
        case nil: return times > most ? Worst(value: nil, causes: [layer] + worst.causes) : worst
        case let once?:
            guard times <= most, once <= most else { return Worst(value: nil, causes: [layer]) }
            let product = once * times
            return Worst(value: product > most ? nil : product, causes: [layer] + worst.causes)
        }
    }

    /// The bytes that all layers hold at the same time.
    fileprivate static func bytes(of layers: [Layer]) -> Worst {
        let unbounded = layers.filter { !$0.isDeclared || $0.memory.bytes == .unbounded }
        guard unbounded.isEmpty else { return Worst(value: nil, causes: unbounded) }
        let holding = layers.filter { $0.memory.bytes != .atMost(0) }
        let total = holding.reduce(into: Int?(0)) { total, layer in
            let sum = total?.addingReportingOverflow(layer.memory.bytes.value ?? 0)
            total = sum?.overflow == false ? sum?.partialValue : nil
        }
        return Worst(value: total, causes: holding)
    }
}

extension Worst<Duration> {
    /// The time until the head of the response: the waits and the requests of each layer, up to its time limit and the time
    /// that the layers further out leave, which is nil for any.
    fileprivate static func duration(of layers: ArraySlice<Layer>, within deadline: Duration?) -> Worst {
        guard let layer = layers.first else { return Worst(value: .zero) }
        let limit = layer.time.limit.value?.asLimit
        let rest = layers.dropFirst()
        // A transport takes any time, unless it declares a limit.
        if rest.isEmpty, layer.branches.isEmpty { return Worst(value: limit, causes: limit == .zero ? [] : [layer]) }
        let left = [deadline, limit].compactMap(\.self).min()
        var worst = duration(of: rest, within: left)
        for branch in layer.branches { worst.add(duration(of: branch.layers[...], within: left)) }
        worst.pass(layer, adding: layer.ownTime(within: left))
        if let limit, worst.value.map({ $0 > limit }) ?? true { return Worst(value: limit, causes: [layer]) }
        return worst
    }

    /// Adds a layer that sends what is further in as often as it may, and takes time of its own; nil for any.
    private mutating func pass(_ layer: Layer, adding own: Duration?) {
        let times = layer.sending.times.upperBound
        if times == 0 { self = Worst(value: .zero) }
        // Beyond that, a product would overflow.
        let isSmall = value.map { $0 == .zero || times < 1 << 30 && $0 < .seconds(1 << 30) } ?? false
        if isSmall, let once = value, let own {
            let repeated = once * min(times, 1 << 30)
            causes = (own > .zero || times > 1 && repeated > .zero ? [layer] : []) + causes
            value = repeated + own
        } else {
            let isCause = own == nil || value != nil
            causes = (isCause ? [layer] : []) + (value == nil ? causes : [])
            value = nil
        }
    }
}

extension Layer {
    /// Returns the time that a layer itself adds to a request; nil for any.
    fileprivate func ownTime(within deadline: Duration?) -> Duration? {
        guard isDeclared, var wait = time.waiting.value?.asLimit, let reading = time.reading.value?.asLimit else {
            return nil
        }
        // Such a layer waits for as long as the deadline allows, also beyond its own limit.
        if has(.waitsUntilDeadline), let deadline { wait = max(wait, deadline) }
        return wait + reading
    }
}

extension Int {
    /// The number of bytes in whole units, rounded up, since it is a bound.
    fileprivate var byteText: String {
        switch self {
        case ..<(1 << 10): "\(self) bytes"
        case ..<(1 << 20): "\((self + 1 << 10 - 1) >> 10) KiB"
        default: "\(self >> 20 + (self & (1 << 20 - 1) == 0 ? 0 : 1)) MiB"
        }
    }
}
