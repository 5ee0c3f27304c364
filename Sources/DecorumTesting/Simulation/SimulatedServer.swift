package import Decorum
import Foundation

/// A server of a ``Scenario`` in one phase: how fast it works, how much, and how it fails.
///
/// It has a queue in which the first request comes first, and workers that take requests from it. Without trouble, a
/// `SimulatedServer()` answers 100 requests in a second, one after the other:
///
/// ```swift
/// var slow = SimulatedServer()
/// slow.work = .fixed(.milliseconds(33))
/// ```
public struct SimulatedServer: Sendable, Hashable {
    /// The number of requests that it works on at the same time.
    public var workers = 1
    /// The time that a worker takes for a request.
    public var work = SimulatedDelay.fixed(.milliseconds(10))
    /// The same for requests of a `routeName`.
    public var workOfRoute: [String: SimulatedDelay] = [:]
    /// The time on the way, to the server and back.
    public var trip = SimulatedDelay.fixed(.milliseconds(2))
    /// The number of requests that wait in the queue; it answers further ones with a 503 at once.
    public var queueLimit = 200
    /// Whether it works on a request whose client has gone, which it does not learn in most cases.
    public var servesAbandoned = true
    /// The answer to each request: `.works`, or a failure at once.
    public var answer = Answer.works
    /// The share of requests that are answered with a 500 after the work, from 0 to 1.
    public var failures = 0.0
    /// The share of requests of which nothing arrives, from 0 to 1.
    public var losses = 0.0
    /// The share of requests whose connection is lost after the work, from 0 to 1.
    public var resets = 0.0
    /// The time by which the clock of the server is ahead, which the field `Date` shows.
    public var skew = Duration.zero
    /// The size of the content of an answer, which takes ``contentTime`` to arrive.
    public var contentLength = 0
    /// The time in which the content arrives, in four parts.
    public var contentTime = Duration.zero

    /// Creates a server that answers 100 requests in a second, of which 200 wait in its queue.
    public init() {}

    /// How a server answers.
    public enum Answer: Sendable, Hashable {
        /// It puts the request into its queue, and works on it.
        case works
        /// It does not listen; what it was working on is lost.
        case stopped
        /// It answers with a status at once, and asks for a pause with `Retry-After` if there is one.
        case refuses(Int, retryAfter: Duration? = nil)
    }

    /// The number of requests that it answers in a second.
    public var capacity: Double { Double(workers) / (work.mean / .seconds(1)) }
}

/// A random time: a lognormal distribution, of which a share of stragglers takes a multiple.
public struct SimulatedDelay: Sendable, Hashable {
    /// The mean, without the stragglers.
    public var mean: Duration
    /// The standard deviation, without the stragglers; zero for a fixed time.
    public var deviation: Duration
    /// The share of stragglers, from 0 to 1.
    public var stragglers: Double
    /// How many times as long a straggler takes.
    public var stragglerFactor: Double

    /// Creates a delay from its values.
    public init(
        mean: Duration, deviation: Duration = .zero, stragglers: Double = 0, stragglerFactor: Double = 1
    ) {
        self.mean = mean
        self.deviation = deviation
        self.stragglers = stragglers
        self.stragglerFactor = stragglerFactor
    }

    /// A delay that is always the same.
    public static func fixed(_ time: Duration) -> SimulatedDelay { SimulatedDelay(mean: time) }

    /// Draws a delay in nanoseconds.
    package func draw(using generator: any RandomGenerator) -> Int64 {
        var time = mean.bounded / .nanoseconds(1)
        if deviation > .zero, time > 0 {
            let variance = log(1 + pow(deviation.bounded / mean.bounded, 2))
            let normal = sqrt(-2 * log(1 - generator.uniform())) * cos(2 * .pi * generator.uniform())
            time *= exp(variance.squareRoot() * normal - variance / 2)
        }
        if stragglers > 0, generator.uniform() < stragglers { time *= stragglerFactor }
        return Int64(min(max(time, 0), 0x1p60))
    }
}

/// The requests at a server: those that wait, and those that it works on.
struct ServerQueue<Request> {
    private var waiting: [Request] = []
    private var first = 0
    private(set) var working: [Int: Request] = [:]
    private var lastNumber = 0

    /// The number of requests that wait.
    var waitingCount: Int { waiting.count - first }

    /// What to do with a request that has arrived.
    enum Arrival: Equatable {
        case starts(number: Int)
        case waits, isRefused
    }

    /// Takes a request that has arrived.
    mutating func arrive(_ request: Request, at server: SimulatedServer) -> Arrival {
        if working.count < server.workers { return .starts(number: start(request)) }
        guard waitingCount < server.queueLimit else { return .isRefused }
        waiting.append(request)
        return .waits
    }

    /// Ends the work on a request; returns it, or nil if the server has lost it meanwhile.
    mutating func end(_ number: Int) -> Request? { working.removeValue(forKey: number) }

    /// Begins the work on the request that has waited longest and is wanted, if a worker is free.
    mutating func startNext(at server: SimulatedServer, ifWanted isWanted: (Request) -> Bool) -> (Int, Request)? {
        guard working.count < server.workers else { return nil }
        while first < waiting.count {
            let request = waiting[first]
            first += 1
            if first > 1000, first * 2 > waiting.count {
                waiting.removeFirst(first)
                first = 0
            }
            if server.servesAbandoned || isWanted(request) { return (start(request), request) }
        }
        return nil
    }

    /// Loses all requests, and returns them, first come first.
    mutating func loseAll() -> [Request] {
        defer { (waiting, first, working) = ([], 0, [:]) }
        return working.sorted { $0.key < $1.key }.map(\.value) + waiting[first...]
    }

    private mutating func start(_ request: Request) -> Int {
        lastNumber += 1
        working[lastNumber] = request
        return lastNumber
    }
}
