import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Responses are recorded whole, whatever a test reads of them.
@Suite(.timeLimit(.minutes(3))) struct WholeResponseTests {
    let folder = TemporaryFolder()

    private func cassette(_ mode: CassetteMode, rules: CassetteRules = CassetteRules()) throws -> Cassette {
        try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
    }

    static func streamed(_ chunks: [String], status: HTTPResponse.Status = .ok, type: String = "text/plain") -> Response
    {
        Response(
            status: status, fields: [.contentType: type],
            body: Body(length: nil, replay: .once) { _ in ChunkReader(chunks: chunks) })
    }

    private static func stub(_ reader: @escaping @Sendable () -> any BodyReader) -> StubConnection {
        StubConnection { _ in Response(status: .ok, body: Body(length: nil, replay: .once) { _ in reader() }) }
    }

    private func recorded() throws -> [Interaction] {
        try cassette(.replay).interactions()
    }

    enum Reading: CaseIterable {
        case nothing, oneChunk, all, kept
    }

    @Test(arguments: Reading.allCases, [CassetteMode.once, .rewrite])
    func `Content is recorded whole, whatever the test reads of it`(reading: Reading, mode: CassetteMode) async throws {
        let cassette = try cassette(mode)
        let connection = CassetteConnection(
            cassette, recording: StubConnection { _ in Self.streamed(["one", "two", "three"]) })
        var kept: Response?
        do {
            let response = try await connection.send(.get("https://example.com/"))
            switch reading {
            case .nothing: break
            case .oneChunk:
                var reader = try await response.body.open()
                #expect(try await reader.next() == Data("one".utf8))
            case .all: #expect(try await response.body.text(upTo: 100) == "onetwothree")
            case .kept: kept = response
            }
        }
        try await cassette.finish()

        #expect(try await kept?.body.text(upTo: 100) == (reading == .kept ? "onetwothree" : nil))
        let interaction = try #require(try recorded().first)
        #expect(interaction.failure == nil)
        #expect(interaction.response?.body.bytes == Data("onetwothree".utf8))
    }

    /// Records a stream without an end, of which the test reads one event.
    private func recordEndless(
        _ rules: CassetteRules, mode: CassetteMode = .once, during body: () async throws -> Void = {}
    ) async throws -> EndlessReader.Ledger {
        let ledger = EndlessReader.Ledger()
        let cassette = try cassette(mode, rules: rules)
        let connection = CassetteConnection(
            cassette,
            recording: StubConnection { _ in
                Response(
                    status: .ok, fields: [.contentType: "text/event-stream"],
                    body: Body(length: nil, replay: .once) { _ in EndlessReader(ledger: ledger) })
            })
        do {
            var reader = try await connection.send(.get("https://example.com/events")).body.open()
            _ = try await reader.next()
        }
        try await body()
        try await cassette.finish()
        return ledger
    }

    @Test func `An endless event stream ends at its limit of bytes, with a mark`() async throws {
        var rules = CassetteRules()
        rules.remainder = .init(bytes: 100, clock: VirtualClock())
        let ledger = try await recordEndless(rules)
        try await ledger.waitForEnd()
        let interaction = try #require(try recorded().first)
        #expect(interaction.response?.body.bytes.count == 110)
        #expect(interaction.failure == RecordedFailure(kind: "abandoned", stage: .body))
        let text = try folder.text("a.json")
        #expect(text.contains(#""kind": "abandoned""#))
    }

    @Test func `A stream that falls silent ends at its limit of time`() async throws {
        let clock = VirtualClock()
        var rules = CassetteRules()
        rules.remainder = .init(time: .seconds(3), clock: clock)
        let cassette = try cassette(.once, rules: rules)
        let gate = Gate()
        let connection = CassetteConnection(cassette, recording: Self.stub { GatedReader(gate: gate) })
        do {
            var reader = try await connection.send(.get("https://example.com/")).body.open()
            #expect(try await reader.next() == Data("first".utf8))
        }
        async let finished: Void = cassette.finish()
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(3))
        try await finished
        let interaction = try #require(try recorded().first)
        #expect(interaction.response?.body.bytes == Data("first".utf8))
        #expect(interaction.failure?.kind == "abandoned")
    }

    @Test func `A test that reads beyond the end of a recording is told so, and cannot hide it`() async throws {
        var rules = CassetteRules()
        rules.remainder = .init(bytes: 0, clock: VirtualClock())
        _ = try await recordEndless(rules)
        let cassette = try cassette(.replay)
        let response = try await CassetteConnection(cassette).retrying().send(.get("https://example.com/events"))
        let error = await #expect(throws: RecordingEndedError.self) { try await response.body.data(upTo: 1000) }
        #expect(error?.length == 10)
        let text = try #require(error).description
        #expect(text.contains("The recording of GET https://example.com/events ends here, after 10 bytes"))
        #expect(text.contains("`CASSETTE=append` records it again"))
        await #expect(throws: RecordingEndedError.self) { try await cassette.finish() }
    }

    @Test func `Appending mends a recording that was cut, in its place`() async throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://example.com/cut"},
             "response": {"status": 200, "text": "one"}, "error": {"kind": "abandoned", "after": "body"}},
            {"request": {"method": "GET", "url": "https://example.com/whole"}, "response": {"status": 200, "text": "x"}}]}
            """, to: "a.json")
        let cassette = try cassette(.append)
        let stub = StubConnection { _ in Self.streamed(["one", "two"]) }
        let connection = CassetteConnection(cassette, recording: stub)
        #expect(try await connection.send(.get("https://example.com/cut")).body.text(upTo: 100) == "onetwo")
        #expect(try await connection.send(.get("https://example.com/whole")).body.text(upTo: 100) == "x")
        try await cassette.finish()

        #expect(stub.requests.count == 1)
        let interactions = try recorded()
        #expect(interactions.map { $0.request.url.suffix(5) } == ["m/cut", "whole"])
        #expect(interactions.map { $0.response?.body.bytes } == [Data("onetwo".utf8), Data("x".utf8)])
        #expect(interactions.allSatisfy { $0.failure == nil })
    }

    @Test func `Appending keeps a recording that was cut if the new one has no more`() async throws {
        var rules = CassetteRules()
        rules.remainder = .init(bytes: 100, clock: VirtualClock())
        _ = try await recordEndless(rules)
        let before = try folder.text("a.json")
        _ = try await recordEndless(rules, mode: .append)
        #expect(try folder.text("a.json") == before)
        rules.remainder.bytes = 200
        _ = try await recordEndless(rules, mode: .append)
        #expect(try recorded().map { $0.response?.body.bytes.count } == [210])
    }

    @Test func `A slow reader gets each chunk, and the transfer waits for it`() async throws {
        var rules = CassetteRules()
        rules.remainder = .init(bytes: 100, clock: VirtualClock())
        let cassette = try cassette(.once, rules: rules)
        let ledger = EndlessReader.Ledger()
        let connection = CassetteConnection(cassette, recording: Self.stub { EndlessReader(ledger: ledger) })
        var reader: (any BodyReader)? = try await connection.send(.get("https://example.com/")).body.open()
        for count in 1...5 {
            #expect(try await reader?.next() == EndlessReader.event)
            for _ in 0..<20 { await Task.yield() }
            #expect(ledger.count == count)
        }
        reader = nil
        try await cassette.finish()
    }

    @Test func `A cancelled reader cancels the transfer, which is recorded as cancelled`() async throws {
        let cassette = try cassette(.once)
        let gate = Gate()
        let connection = CassetteConnection(cassette, recording: Self.stub { GatedReader(gate: gate) })
        let reading = Task {
            try await connection.send(.get("https://example.com/")).body.data(upTo: 100)
        }
        try await gate.waitForWaiting(1)
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        try await cassette.finish()
        let interaction = try #require(try recorded().first)
        #expect(interaction.failure == RecordedFailure(kind: "cancelled", stage: .body))
        #expect(interaction.response?.body.bytes == Data("first".utf8))
    }

    @Test func `A cassette that is not finished stops what it reads on`() async throws {
        var rules = CassetteRules()
        rules.remainder = .init(bytes: .max, time: .seconds(3600), clock: VirtualClock())
        let ledger = EndlessReader.Ledger()
        do {
            let cassette = try cassette(.once, rules: rules)
            let connection = CassetteConnection(cassette, recording: Self.stub { EndlessReader(ledger: ledger) })
            _ = try await connection.send(.get("https://example.com/"))
        }
        try await ledger.waitForEnd()
        #expect(!FileManager.default.fileExists(atPath: folder.path("a.json")))
    }

    @Test func `A request that is under way at the end is waited for, and left out if nothing comes`() async throws {
        let clock = VirtualClock()
        var rules = CassetteRules()
        rules.remainder = .init(time: .seconds(3), clock: clock)
        let cassette = try cassette(.once, rules: rules)
        let gates = ["/late": Gate(), "/never": Gate()]
        let connection = CassetteConnection(
            cassette,
            recording: StubConnection { request in
                try await gates[request.head.path ?? ""]?.wait()
                return Self.streamed(["late"])
            })
        let tasks = ["/late", "/never"].map { path in
            Task { _ = try await connection.send(.get("https://example.com" + path)) }
        }
        for gate in gates.values { try await gate.waitForWaiting(1) }
        defer { tasks[1].cancel() }
        let end = Gate()
        async let finished: Void = {
            defer { end.open() }
            try await cassette.finish()
        }()
        try await clock.waitForSleepers()
        gates["/late"]?.open()
        try await tasks[0].value
        // Each request is waited for in its turn, and the one without an answer takes all of its time.
        try await yield {
            clock.advance(by: .seconds(3))
            return end.isOpen
        }
        try await finished
        #expect(try recorded().map(\.request.url) == ["https://example.com/late"])
    }
}

private struct ChunkReader: BodyReader {
    var chunks: [String]

    mutating func next() async throws -> Data? {
        chunks.isEmpty ? nil : Data(chunks.removeFirst().utf8)
    }

    var trailers: HTTPFields? { nil }
}

/// A stream of events that never ends.
private final class EndlessReader: BodyReader {
    static let event = Data("data: 12\n\n".utf8)

    /// What the reader has done.
    final class Ledger: Sendable {
        private let events = Mutex(0)
        private let ended = Gate()

        var count: Int { events.withLock { $0 } }

        func note() { events.withLock { $0 += 1 } }

        func end() { ended.open() }

        func waitForEnd() async throws { try await ended.wait() }
    }

    private let ledger: Ledger

    init(ledger: Ledger) {
        self.ledger = ledger
    }

    deinit { ledger.end() }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        await Task.yield()
        ledger.note()
        return Self.event
    }

    var trailers: HTTPFields? { nil }
}

/// One chunk, and then nothing until a gate opens.
private struct GatedReader: BodyReader {
    let gate: Gate
    var isFirst = true

    init(gate: Gate) {
        self.gate = gate
    }

    mutating func next() async throws -> Data? {
        defer { isFirst = false }
        if isFirst { return Data("first".utf8) }
        try await gate.wait()
        return nil
    }

    var trailers: HTTPFields? { nil }
}

/// An answer whose reader was cancelled while it was recorded.
@Suite(.timeLimit(.minutes(3))) struct CancelledRecordingTests {
    private let folder = TemporaryFolder()
    private let clock = VirtualClock()

    private static let file = """
        {"cassette": 1, "interactions": [
        {"request": {"method": "GET", "url": "https://example.com/"},
        "response": {"status": 200, "text": "first"}, "error": {"kind": "cancelled", "after": "body"}}]}
        """

    init() throws {
        try folder.write(Self.file, to: "a.json")
    }

    /// Reads the answer in a mode until nothing else arrives, and then ends the wait.
    private func read(_ mode: CassetteMode, ending end: (Task<Void, any Error>) async -> Void) async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, clock: clock)
        let stub = StubConnection { _ in Response(status: .ok, body: "first and second") }
        var request = try Request.get("https://example.com/")
        request.options.idleTimeout = .seconds(5)
        let response = try await CassetteConnection(cassette, recording: stub).send(request)
        let content = Mutex(Data())
        let reading = Task {
            var reader = try await response.body.open()
            while let part = try await reader.next() { content.withLock { $0.append(part) } }
        }
        try await clock.waitForSleepers()
        #expect(content.withLock { $0 } == Data("first".utf8))
        await end(reading)
        try await cassette.finish()

        // A new recording would have the whole answer, and the test is about one that is cancelled.
        #expect(stub.requests.isEmpty)
        #expect(try folder.text("a.json") == Self.file)
    }

    @Test(arguments: [CassetteMode.replay, .append])
    func `Its reader gets what was recorded, and waits until it is cancelled again`(mode: CassetteMode) async throws {
        try await read(mode) { reading in
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
        }
    }
}
