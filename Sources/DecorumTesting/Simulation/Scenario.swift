/// What happens in a simulation: how many calls begin in a second, and in which state the server is, phase by phase.
///
/// The presets offer 80 calls in a second to a server that can answer 100, with trouble from 40 to 60 seconds after the
/// start. Another trouble is a phase with another server:
///
/// ```swift
/// var server = SimulatedServer()
/// server.losses = 0.3
/// let scenario = Scenario(named: "a bad line", trouble: server)
/// ```
public struct Scenario: Sendable, Hashable {
    /// A time with one rate of calls and one state of the server.
    public struct Phase: Sendable, Hashable {
        /// The time from the start of the scenario to the start of the phase.
        public var start: Duration
        /// The number of calls that begin in a second, of all clients together.
        public var rate: Double
        /// The server.
        public var server: SimulatedServer

        /// Creates a phase from its values.
        public init(from start: Duration, rate: Double = 80, server: SimulatedServer = SimulatedServer()) {
            self.start = start
            self.rate = rate
            self.server = server
        }
    }

    /// The name, for the report.
    public var name: String
    /// The phases in the order of their starts; the first is the state without trouble.
    public var phases: [Phase]
    /// The time in which calls begin.
    public var length: Duration
    /// The hosts whose servers stay as in the first phase, such as the one that a client falls back to.
    public var soundHosts: Set<String> = []

    /// Creates a scenario from its phases.
    public init(named name: String, phases: [Phase], length: Duration = .seconds(140)) {
        self.name = name
        self.phases = phases.sorted { $0.start < $1.start }
        self.length = length
    }

    /// Creates a scenario with trouble from 40 to 60 seconds.
    public init(
        named name: String, trouble: SimulatedServer, rate: Double = 80, rateInTrouble: Double? = nil,
        server: SimulatedServer = SimulatedServer()
    ) {
        self.init(
            named: name,
            phases: [
                Phase(from: .zero, rate: rate, server: server),
                Phase(from: .seconds(40), rate: rateInTrouble ?? rate, server: trouble),
                Phase(from: .seconds(60), rate: rate, server: server),
            ])
    }

    /// The time with trouble: from the first phase that differs from the beginning to the one that is like it again.
    public var trouble: Range<Duration>? {
        guard let usual = phases.first, let begin = phases.firstIndex(where: { !$0.isLike(usual) }) else { return nil }
        let end = phases[begin...].first { $0.isLike(usual) }?.start ?? length
        return phases[begin].start..<max(phases[begin].start, end)
    }

    /// The phase at a time, in nanoseconds from the start.
    func phase(at instant: Int64) -> Phase {
        phases.last { $0.start.nanoseconds <= instant } ?? phases.first ?? Phase(from: .zero)
    }

    func server(of host: String, at instant: Int64) -> SimulatedServer {
        soundHosts.contains(host) ? phase(at: .min).server : phase(at: instant).server
    }
}

extension Scenario.Phase {
    fileprivate func isLike(_ other: Self) -> Bool { rate == other.rate && server == other.server }
}

extension Scenario {
    /// No trouble.
    public static let steady = Scenario(named: "steady", phases: [Phase(from: .zero)])

    /// The server does not listen for 20 seconds, and has lost what it was working on.
    public static let stop = Scenario(named: "stop", trouble: SimulatedServer { $0.answer = .stopped })

    /// The server is slow for 20 seconds: it answers 30 requests in a second.
    public static let brownOut = Scenario(
        named: "brown-out", trouble: SimulatedServer { $0.work = .fixed(.nanoseconds(33_333_333)) })

    /// For 60 seconds, twice as many calls begin as the server can answer.
    public static let overload = Scenario(
        named: "overload",
        phases: [Phase(from: .zero), Phase(from: .seconds(40), rate: 200), Phase(from: .seconds(100))])

    /// All the time, one request of a hundred fails.
    public static let lonelyFailures = Scenario(
        named: "lonely failures", phases: [Phase(from: .zero, server: SimulatedServer { $0.failures = 0.01 })])

    /// The server answers with a 503 for 20 seconds, and asks for a pause until then.
    public static let pauseAsked = Scenario(
        named: "pause asked",
        trouble: SimulatedServer { $0.answer = .refuses(503, retryAfter: .seconds(20)) })
}

extension SimulatedServer {
    fileprivate init(_ change: (inout SimulatedServer) -> Void) {
        self.init()
        change(&self)
    }
}
