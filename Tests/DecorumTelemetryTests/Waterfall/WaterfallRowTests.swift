import Decorum
import Foundation
import Testing

@testable import DecorumTelemetry

/// The decision where the bars of a report stand.
@Suite struct WaterfallRowTests {
    private typealias Examples = WaterfallExamples

    private func bars(_ reports: CallReport...) -> [String] {
        WaterfallRow.list(of: reports).flatMap(\.bars).map {
            "\($0.attempt) \($0.part) \(Int($0.start))–\(Int($0.end))" + ($0.isFailed ? " failed" : "")
        }
    }

    @Test func `A used connection has no parts for its making, and may have a wait in the pool`() {
        var report = Examples.measured()
        report.timings?.queued = .milliseconds(40)
        report.timings?.nameLookup = nil
        report.timings?.connect = nil
        report.timings?.handshake = nil
        #expect(bars(report) == ["1 wait 0–10", "1 wait 10–50", "1 firstByte 50–80", "1 body 80–100"])
    }

    @Test func `A call without a head, a call without an exchange and a call without times have one bar or none`() {
        #expect(bars(Examples.failed()) == ["1 other 0–1000 failed"])
        #expect(bars(Examples.stored()) == ["1 none 0–2"])
        #expect(bars(CallReport()) == [])
    }

    @Test func `An attempt without a time of its own ends where the wait before the next one begins`() {
        var report = Examples.retried()
        report.attempts[0].duration = nil
        #expect(bars(report).first == "1 other 0–400 failed")
        for index in report.attempts.indices {
            (report.attempts[index].start, report.attempts[index].duration) = (nil, nil)
        }
        #expect(bars(report) == ["2 wait 0–1000", "2 firstByte 1000–1800", "2 body 1800–2000"])
    }

    @Test func `The report of an attempt gives its parts to the row of its call`() {
        var attempt = Examples.measured()
        (attempt.scope, attempt.attempt, attempt.callID) = (.attempt, 1, 2)
        #expect(
            bars(attempt, Examples.retried()).prefix(5) == [
                "1 lookup 0–10 failed", "1 connect 10–30 failed", "1 handshake 30–50 failed",
                "1 firstByte 50–70 failed",
                "1 body 70–400 failed",
            ])
        #expect(WaterfallRow.list(of: [attempt]).map(\.report) == [attempt])
    }

    @Test func `Rows are in the order of their begins, and those that have none come last`() {
        var unknown = Examples.failed()
        unknown.startedAt = nil
        let rows = WaterfallRow.list(of: [unknown, Examples.stored(at: 3), Examples.retried(at: 2)])
        #expect(rows.map(\.report.callID) == [2, 4, 3])
        #expect(rows.map { Int($0.offset.rounded()) } == [0, 1000, 0])
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(-5), .zero])
    func `No time traps, and no bar ends before it begins`(time: Duration) {
        var report = Examples.retried()
        report.duration = time
        report.timeToHead = time
        for index in report.attempts.indices {
            (report.attempts[index].start, report.attempts[index].wait) = (time, time)
            report.attempts[index].duration = time
        }
        report.timings = TransferTimings(total: time)
        report.timings?.firstByte = time
        var others = [Examples.measured(), Examples.measured(), Examples.measured()]
        (others[0].startedAt, others[1].startedAt) = (.distantFuture, Date(timeIntervalSince1970: .nan))
        let rows = WaterfallRow.list(of: others + [report])
        #expect(rows.flatMap(\.bars).allSatisfy { $0.start <= $0.end && $0.start >= 0 })
        #expect(!Waterfall(others + [report]).text().isEmpty)
        #expect(Waterfall(others + [report]).page().contains("\"title\""))
    }
}
