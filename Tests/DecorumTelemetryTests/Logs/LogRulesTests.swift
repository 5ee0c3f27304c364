import Decorum
import DecorumTesting
import Testing

@testable import DecorumTelemetry

@Suite struct LogRulesTests {
    private static let failed = CallReport.Outcome.failed(name: "connectionLost")
    private static let rows: [(CallReport.Outcome, Int?, call: LogLevel, attempt: LogLevel)] = [
        (.finished, 200, .info, .debug), (.finished, 304, .info, .debug), (.finished, nil, .info, .debug),
        (.finished, 400, .notice, .info), (.finished, 499, .notice, .info), (.finished, 500, .error, .warning),
        (.finished, 599, .error, .warning), (failed, nil, .error, .warning), (failed, 200, .error, .warning),
        (failed, 404, .notice, .info), (failed, 503, .error, .warning), (.cancelled, nil, .debug, .debug),
        (.cancelled, 503, .debug, .debug), (.abandoned, 200, .info, .debug), (.abandoned, 404, .notice, .info),
        (.abandoned, 503, .error, .warning),
    ]

    @Test(arguments: rows) func `An outcome has a level`(
        outcome: CallReport.Outcome, statusCode: Int?, call: LogLevel, attempt: LogLevel
    ) {
        let rules = LogRules()
        #expect(rules.level(of: CallReport(.call, statusCode: statusCode, outcome: outcome)) == call)
        #expect(rules.level(of: CallReport(.attempt, statusCode: statusCode, outcome: outcome)) == attempt)
    }

    @Test func `Each level can be changed, and left out`() {
        var rules = LogRules()
        rules.calls.success = .trace
        rules.calls.clientError = .critical
        rules.attempts = .calls
        rules.attempts.cancelled = nil
        #expect(rules.level(of: CallReport(statusCode: 200)) == .trace)
        #expect(rules.level(of: CallReport(statusCode: 404)) == .critical)
        #expect(rules.level(of: CallReport(.attempt, statusCode: 200)) == .info)
        #expect(rules.level(of: CallReport(.attempt, outcome: .cancelled)) == nil)
        #expect(rules.highest == .critical && LogRules().highest == .error)
        #expect(LogLevel.allCases == LogLevel.allCases.sorted())
    }

    @Test func `A share of the successes is kept, and all other entries`() {
        let rules = LogRules(successShare: 0.25)
        let kept = (0..<1000 as Range<UInt64>).filter { id in
            let call = rules.keeps(CallReport(.call, callID: id, statusCode: 200))
            #expect(call == rules.keeps(CallReport(.attempt, callID: id, statusCode: 200)))
            return call
        }
        #expect((200...300).contains(kept.count))

        let none = LogRules(successShare: 0)
        for id in [nil, 1] as [UInt64?] {
            #expect(!none.keeps(CallReport(callID: id, statusCode: 200)))
            #expect(LogRules(successShare: 1).keeps(CallReport(callID: id, statusCode: 200)))
        }
        for (outcome, code, _, _) in Self.rows where outcome != .finished || (code ?? 0) >= 400 {
            #expect(none.keeps(CallReport(statusCode: code, outcome: outcome)))
        }
    }
}
