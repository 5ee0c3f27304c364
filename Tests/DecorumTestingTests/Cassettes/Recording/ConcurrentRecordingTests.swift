import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Files do not depend on the tasks and the recorders that write them.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 30 : 3))) struct ConcurrentRecordingTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

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

    @Test func `Recorders of one file agree, whoever is first`() async throws {
        var files: Set<String> = []
        for order in [["a", "b"], ["b", "a"]] {
            let name = "\(order.joined()).json"
            let cassettes = try order.map { _ in try recorder.cassette(.once, name) }
            for (path, cassette) in zip(order, cassettes) {
                let connection = CassetteConnection(cassette, recording: StubConnection { _ in TestRecorder.json("1") })
                _ = try await connection.send(.get("https://example.com/\(path)")).body.data(upTo: 100)
                _ = try await connection.send(.get("https://example.com/both")).body.data(upTo: 100)
            }
            for cassette in cassettes { try await cassette.finish() }
            files.insert(try recorder.folder.text(name))
        }
        #expect(files.count == 1)
        #expect(files.first?.components(separatedBy: "\"request\"").count == 4)
    }
}
