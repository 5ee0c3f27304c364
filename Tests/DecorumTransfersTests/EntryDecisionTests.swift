import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTransfers

@Suite(.timeLimit(.minutes(3))) struct EntryDecisionTests {
    typealias Verdict = EntryDecision.Verdict

    private static let now = ContinuousClock.now

    private static let answers: [(statuses: [Int], fields: HTTPFields, attempts: Int, verdict: Verdict)] = [
        (Array(200...206), [:], 1, .finished),
        // A portal answers in the place of the server, and redirects.
        ([300, 302, 304, 401, 407, 408, 425, 429, 500, 502, 503, 504, 507, 511, 520, 529], [:], 1, .again(asked: nil)),
        ([400, 402, 403, 404, 405, 410, 412, 413, 415, 422, 451, 501, 505, 530], [:], 1, .failed),
        ([429, 503, 403, 409], [.retryAfter: "7"], 9, .again(asked: .seconds(7))),
        ([409], [:], 3, .again(asked: nil)), ([409], [:], 4, .failed),
    ]

    @Test func `An answer has a meaning`() {
        for (statuses, fields, attempts, verdict) in Self.answers {
            for status in statuses {
                let head = HTTPResponse(status: .init(code: status), headerFields: fields)
                #expect(EntryDecision.verdict(on: head, attempts: attempts, at: Date()) == verdict, "\(status)")
            }
        }
    }

    private struct Later: TemporaryError {
        let mayPass = true
        let earliestRetry: ContinuousClock.Instant?
    }

    /// An error, what it means for a write, and what for a transfer.
    private static let errors: [(any Error, Verdict, Verdict)] = [
        (TransportError(.unreachable, at: .connecting), .again(asked: nil), .again(asked: nil)),
        (TransportError(.tls, at: .connecting), .again(asked: nil), .again(asked: nil)),
        (CocoaError(.fileReadUnknown), .again(asked: nil), .failed),
        (Later(earliestRetry: now + .seconds(9)), .again(asked: .seconds(9)), .again(asked: .seconds(9))),
        (Later(earliestRetry: now - .seconds(9)), .again(asked: .zero), .again(asked: .zero)),
        (InvalidRequestError(.init("own"), "No."), .failed, .failed),
        (StatusError(method: .get, origin: nil, response: Response(status: .notFound)), .failed, .failed),
        (DownloadError(.inUse), .again(asked: nil), .again(asked: nil)),
    ]

    @Test func `An error has a meaning`() {
        for (error, ofWrite, ofTransfer) in Self.errors {
            for (isTransfer, verdict) in [(false, ofWrite), (true, ofTransfer)] {
                let found = EntryDecision.verdict(
                    on: error, ofTransfer: isTransfer, attempts: 9, at: Self.now, Date(timeIntervalSince1970: 0))
                #expect(found == verdict, "\(error)")
            }
        }
        let forbidden = StatusError(method: .get, origin: nil, response: Response(status: .forbidden))
        let verdicts = [3, 4].map {
            EntryDecision.verdict(on: forbidden, ofTransfer: true, attempts: $0, at: Self.now, Date())
        }
        #expect(verdicts == [.again(asked: nil), .failed])
    }

    @Test func `Waits grow up to a quarter of an hour, and are never shorter than asked`() {
        for (attempts, asked, shortest, longest) in [
            (1, nil, 0.5, 1), (1 << 40, nil, 450, 900), (9, 60.0, 60, 80), (9, 1e9, 3600, 3620),
        ] {
            let wait = EntryDecision.wait(
                afterAttempts: attempts, asked: asked.map { .seconds($0) }, SeededGenerator(seed: 1))
            #expect((.seconds(shortest) ... .seconds(longest)).contains(wait))
        }
    }

    private static func id(_ number: Int64) -> OutboxEntry.ID { .init(number, "00000000-0000-4000-8000-000000000000") }

    /// A write: its place in the order, and its lane; or with a network, a transfer.
    private static func item(
        _ number: Int64, _ lane: String = "", _ priority: TaskPriority = .medium, on network: TransferNetwork? = nil,
        age: Int = 0, due: Int? = nil, last: Int = 0, runs: Bool = false, isPaused: Bool = false
    ) -> EntryItem {
        var job = network.map { EntryRecord.Job(URL(filePath: "/film"), nil, priority, $0) }
        job?.isPaused = isPaused
        let record = EntryRecord(
            id: id(number), lane: lane, date: Date(), head: .init(method: .put, scheme: nil, authority: nil, path: "/"),
            job: job)
        return EntryItem(
            record: record, since: now - .seconds(age), last: now + .seconds(last), due: due.map { now + .seconds($0) },
            isRunning: runs, meter: TransferMeter(clock: SystemClock()))
    }

    /// Entries in the order in which they begin, what is decided of each, and the time of the next decision.
    private typealias Row = (entries: [(EntryItem, String)], places: Int, network: NetworkState, wake: Int?)

    private static let rows: KeyValuePairs<String, Row> = [
        "the first of each lane is sent or too old, or holds the others back": (
            [
                (item(1, "a"), "begins"), (item(2, "a"), "its turn"), (item(3, "b", due: 5), "another attempt"),
                (item(4, "b", age: 101), "its turn"), (item(5, "c", due: 3), "another attempt"),
                (item(6, "d"), "its turn"), (item(7, "d", runs: true), "goes on"),
                (item(8, "e", due: 7), "another attempt"), (item(9, "f", age: 101), "begins"),
                (item(10, "f", age: 100), "its turn"),
            ], 2, .reachable, 3
        ),
        "no network, and a monitor that may be wrong": (
            [
                (item(1, "a"), "the network"), (item(2, "b", due: 850, last: -100), "the network"),
                (item(3, "c", last: -900), "begins"),
            ], 4, .unreachable, 850
        ),
        "the highest priority first, and the oldest of it; one that waits for a time has no place": (
            [
                (item(3, "", .high, on: .any), "begins"), (item(4, "", .high, on: .any), "begins"),
                (item(2, on: .any), "begins"), (item(1, "", .low, on: .any), "its turn"),
                (item(5, on: .any, isPaused: true), "goes on"),
                (item(6, "", .high, on: .any, due: 5), "another attempt"),
            ], 3, .reachable, 5
        ),
        "behind a portal, transfers stop": (
            [(item(1, on: .any, runs: true), "stops: a sign-in to the network")], 4, NetworkState(isCaptive: true), nil
        ),
        "a transfer that needs a cheap network leaves its place to one that does not": (
            [
                (item(1, on: .inexpensive, runs: true), "stops: a network that is not expensive"),
                (item(2, on: .any), "begins"),
            ], 1, NetworkState(isExpensive: true), nil
        ),
    ]

    @Test func `The next steps follow from what waits`() {
        for (name, row) in Self.rows {
            let items = row.entries.map(\.0).reversed()
            let plan = EntryDecision.plan(
                items, olderThan: .seconds(100), places: row.places, network: row.network, at: Self.now)
            var expected = EntryDecision.Plan(wake: row.wake.map { Self.now + .seconds($0) })
            for (item, decision) in row.entries where decision != "goes on" {
                if decision.hasPrefix("stops: ") { expected.stops.append(item.record.id) }
                if decision == "begins" {
                    expected.begins.append(item.record.id)
                } else {
                    expected.waits[item.record.id] = decision.replacing("stops: ", with: "")
                }
            }
            #expect(plan == expected, "\(name)")
        }
    }
}
