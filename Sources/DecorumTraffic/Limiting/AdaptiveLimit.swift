/// The number of requests that a server works on at the same time, found by the latency of its answers.
///
/// A window of requests with a high limit is followed by one with a limit that is an eighth lower. If the latency falls in the
/// same proportion, requests waited in the server, and the limit is lowered; if it stays, the server has room, and the limit grows.
/// In between, the ratio of the two latencies tells the capacity, and a server that becomes slower is not taken for a full one.
///
/// That does not show a queue of other clients. So at twice the latency of quiet times, the limit falls too, unless the latency is
/// as long when the limit has been halved. Rejections and timeouts lower the limit by a tenth.
struct AdaptiveLimit: Sendable {
    enum Outcome {
        case answer
        /// The server has rejected the request for its load.
        case rejection
        /// The server did not answer in the time of the request, which may have been short.
        case timeout
    }

    private enum Phase { case ramp, high, low }

    private let range: ClosedRange<Int>
    private var phase = Phase.ramp
    private var limit: Double
    /// The latency in seconds of quiet times.
    private var quiet: Double?
    /// The latency in seconds with the high limit.
    private var highLatency: Double?
    /// The limit and the latency when the latency began to be long.
    private var congestion: (limit: Double, latency: Double)?
    /// The mean of the latest ratios of two latencies; near 1, the server has much room.
    private var room = 0.95
    private var window = (start: Duration.zero, answers: 0, latencies: 0.0, drops: 0, mostRunning: 0)
    /// The number of requests that ends a window.
    private var enough = 80

    init(_ range: ClosedRange<Int>) {
        // Four times the limit must not overflow.
        let range = range.clamped(to: 1...1_000_000)
        self.range = range
        limit = Double(min(max(4, range.lowerBound), range.upperBound))
    }

    private var high: Int { min(max(Int(limit.rounded(.up)), range.lowerBound + 1), range.upperBound) }
    private var low: Int { min(max(Int(Double(high) * 0.875), range.lowerBound), max(high - 1, range.lowerBound)) }

    /// The number of requests that may be on their way now.
    var current: Int { phase == .low ? low : high }

    /// Notes the number of requests on their way after one has begun.
    mutating func begin(_ running: Int) { window.mostRunning = max(window.mostRunning, running) }

    /// Notes a request, of which nine of ten take the `usual` seconds; returns the limit if it may have changed.
    mutating func note(
        _ outcome: Outcome, latency: Double, usual: Double, since start: Duration, at now: Duration
    ) -> Int? {
        // A request from before a change says nothing of the limit since then, nor does a time that is too short for an answer.
        guard start >= window.start, outcome != .timeout || latency > 2 * (quiet ?? 0) else { return nil }
        if outcome != .answer {
            window.drops += 1
        } else {
            window.answers += 1
            // A mean follows the length of the queue, and the few slowest requests would hide it.
            window.latencies += min(latency, usual)
        }
        let count = window.answers + window.drops
        guard count >= enough || count >= 10 && now - window.start >= .seconds(3) else { return nil }
        endWindow()
        // The first answers are the fast ones, so a window has several times as many as are on their way.
        enough = phase == .ramp ? max(80, 3 * current) : max(200, 4 * current)
        window = (now, 0, 0, 0, 0)
        return current
    }

    private mutating func endWindow() {
        defer { limit = min(max(limit, Double(range.lowerBound)), Double(range.upperBound)) }
        guard window.drops * 20 <= window.drops + window.answers, window.answers > 0 else {
            limit = min(limit, Double(current)) * 0.9
            (phase, highLatency) = (.high, nil)
            return
        }
        let latency = max(window.latencies / Double(window.answers), 1e-9)
        let known = quiet ?? latency
        // Slow times say little of quiet ones.
        quiet = known + (latency < known ? 0.3 : 0.01) * (min(latency, 2 * known) - known)
        guard window.mostRunning >= current else {
            (phase, highLatency, congestion) = (phase == .ramp ? .ramp : .high, nil, nil)
            return
        }
        switch phase {
        case .ramp:
            if latency < 1.4 * known { limit *= 1.5 } else { (limit, phase) = (limit * known / latency, .high) }
        case .high:
            (phase, highLatency) = (.low, latency)
        case .low:
            phase = .high
            if let highLatency { follow(from: highLatency, to: latency) }
            yieldToOthers(latency, known)
        }
    }

    /// Moves the limit to the capacity that the ratio of two window.latencies shows, and a little above it.
    private mutating func follow(from highLatency: Double, to latency: Double) {
        let ratio = min(max(latency / highLatency, 0.95 * Double(low) / Double(high)), 1.1)
        room += 0.3 * (ratio - room)
        let target = Double(high) * ratio * 1.04
        limit = room > 0.98 ? max(limit * 1.1, target) : limit + 0.3 * (target - limit)
    }

    private mutating func yieldToOthers(_ latency: Double, _ known: Double) {
        guard latency > 2 * known else {
            congestion = nil
            return
        }
        guard let begun = congestion.take() else {
            congestion = (limit, latency)
            limit /= 2
            return
        }
        if latency > 0.75 * begun.latency { (quiet, limit) = (latency, begun.limit) }
    }
}
