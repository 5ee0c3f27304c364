import Testing

@testable import DecorumEndpoints

@Suite struct EventReconnectionTests {
    private let rules = EventReconnection()

    @Test(
        arguments: [
            (0, nil, 0.0, Duration.seconds(3)), (1, nil, 0, .seconds(3)), (2, nil, 0, .seconds(6)),
            (3, nil, 0, .seconds(12)), (9, nil, 0, .seconds(60)), (1000, nil, 1, .seconds(90)),
            (1, Duration.seconds(1), 0, .seconds(1)), (1, .seconds(1), 1, .seconds(1.5)),
            (3, .seconds(1), 0, .seconds(4)),
            (1, .seconds(120), 0, .seconds(120)), (5, .seconds(120), 0, .seconds(120)),
            (1, .seconds(86_400), 0, .seconds(600)), (1, .zero, 1, .milliseconds(150)),
            (0, .zero, 0, .milliseconds(100)),
            (2, .zero, 0, .milliseconds(200)), (9, .zero, 0, .milliseconds(25_600)), (30, .zero, 0, .seconds(60)),
        ] as [(Int, Duration?, Double, Duration)])
    func `Waits grow, are never shorter than asked, and end at a limit`(
        failures: Int, asked: Duration?, chance: Double, wait: Duration
    ) {
        #expect(rules.wait(failures: failures, asked: asked, chance: chance) == wait)
    }

    @Test(arguments: [Duration(attoseconds: .max), .seconds(Int64.max), .seconds(-1), Duration(attoseconds: .min)])
    func `Rules with any durations give a wait`(duration: Duration) {
        var rules = EventReconnection()
        rules.wait = duration
        for asked in [nil, duration] {
            let wait = rules.wait(failures: 1000, asked: asked, chance: 1)
            #expect(wait >= .zero && wait <= .seconds(1001 << 31))
        }
    }

    @Test(arguments: [
        (TransportError(.connectionLost, at: .body), true), (TransportError(.truncated, at: .body), true),
        (TransportError(.timedOut, at: .body), true), (TransportError(.connectionRefused, at: .connecting), true),
        (TransportError(.undecodableContent, at: .body), false), (TransportError(.closed, at: .body), false),
        (TransportError(.tls, at: .connecting), false),
    ])
    func `A break that would occur again ends the stream`(error: TransportError, passes: Bool) {
        let decision = rules.decision(after: error, failures: 1, asked: nil, isRepeatable: true, chance: 0)
        #expect(decision == (passes ? .connect(after: .seconds(3)) : .fail))
    }

    @Test func `A request that may not be repeated ends with its response`() {
        #expect(rules.decision(after: nil, failures: 0, asked: nil, isRepeatable: false, chance: 0) == .end)
        let error = TransportError(.connectionLost, at: .body)
        #expect(rules.decision(after: error, failures: 0, asked: nil, isRepeatable: false, chance: 0) == .fail)
    }
}
