import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// Files do not depend on the tasks and the recorders that write them.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 30 : 3))) struct ConcurrentRecordingTests {
    private let recorder = TestRecorder()

    @Test func `Fifty tasks that record at once write the same file each time`() async throws {
        var files: Set<String> = []
        for round in 0..<(Footprint.isSoak ? 100 : 10) {
            let recording = try recorder.cassette(.once, "\(round).json")
            let gate = Gate()
            let stub = StubConnection { request in
                try await gate.wait()
                return TestRecorder.json("{\"path\":\"\(request.head.path ?? "")\"}")
            }
            let connection = CassetteConnection(recording, recording: stub)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        _ = try await connection.send(.get("https://example.com/\(index)")).body.data(upTo: 100)
                    }
                }
                try await gate.waitForWaiting(50)
                gate.open()
                try await group.waitForAll()
            }
            try await recording.finish()
            files.insert(try recorder.folder.text("\(round).json"))
        }
        #expect(files.count == 1)
    }

    /// Sends each request in a separate task, one after the other, as a layer may do.
    private func sendInTasks(_ paths: [String], _ cassette: Cassette) async throws {
        let connection = CassetteConnection(cassette, recording: StubConnection { _ in TestRecorder.json("1") })
        for path in paths {
            try await Task { _ = try await connection.send(.get("https://example.com\(path)")).body.data(upTo: 9) }
                .value
        }
    }

    @Test func `Requests that must be played in order are recorded in order, whichever task sends them`() async throws {
        let rules = CassetteRules(order: .strict)
        for round in 0..<20 {
            for mode in [CassetteMode.once, .replay] {
                let cassette = try recorder.cassette(mode, "\(round).json", rules: rules)
                try await sendInTasks(["/b", "/a", "/b"], cassette)
                try await cassette.finish()
            }
        }
    }
}

@Suite(.timeLimit(.minutes(3))) struct SendingOrderTests {
    private func order(_ exchanges: [(sent: Int, answered: Int, url: String)]) -> String {
        let order = SendingOrder.sorted(
            exchanges.map { sent, answered, url in
                .init(sent: sent, answered: answered, text: RequestText(RecordedRequest(method: "GET", url: url)))
            })
        return order.map { exchanges[$0].url }.joined()
    }

    @Test func `Requests at the same time are sorted, and others stay in their order`() {
        #expect(order([(1, 2, "c"), (3, 4, "a"), (5, 6, "b")]) == "cab")
        #expect(order([(1, 6, "c"), (2, 5, "a"), (3, 4, "b")]) == "abc")
        #expect(order([(1, 4, "c"), (2, 3, "a"), (5, 6, "A")]) == "acA")
    }

    @Test func `A request that waits for long does not mix up requests that follow each other meanwhile`() {
        #expect(order([(1, 10, "m"), (2, 3, "z"), (4, 5, "a"), (6, 7, "y")]) == "mzay")
        #expect(order([(1, 10, "zz"), (2, 3, "z"), (4, 5, "a"), (6, 7, "y")]) == "zayzz")
    }

    @Test func `The order never contradicts the order of answers, and does not depend on which task was first`() {
        let generator = SeededGenerator(seed: 4)
        for _ in 0..<200 {
            var events = (0..<10).flatMap { [$0, $0] }
            for index in events.indices.dropLast() {
                events.swapAt(index, index + Int(generator.next() % UInt64(events.count - index)))
            }
            var exchanges: [Int: (sent: Int, answered: Int)] = [:]
            for (event, exchange) in events.enumerated() {
                if let sent = exchanges[exchange]?.sent { exchanges[exchange] = (sent, event) }
                exchanges[exchange] = exchanges[exchange] ?? (event, .max)
            }
            let sorted = exchanges.sorted { $0.value.sent < $1.value.sent }
            let result = order(sorted.map { ($0.value.sent, $0.value.answered, String($0.key)) })
            #expect(result.count == 10)
            let places = Dictionary(uniqueKeysWithValues: result.enumerated().map { (Int(String($1)) ?? 0, $0) })
            for (one, first) in exchanges {
                for (other, second) in exchanges where first.answered < second.sent {
                    #expect(places[one, default: 99] < places[other, default: 0])
                }
            }
        }
    }

    @Test func `Ten thousand requests at once are sorted in a moment`() {
        let start = ContinuousClock.now
        #expect(order((0..<10_000).map { ($0, 20_000 - $0, "\($0 * 7919 % 10_000) ") }).count > 10_000)
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}
