import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// The same traffic recorded again gives the same file, whatever a client or a server makes anew for each run.
@Suite struct RepeatedRecordingTests {
    let folder = TemporaryFolder()

    /// Values that differ in each run.
    private struct Run: Sendable {
        let token: String
        let members: [String]
        let boundary: String
        let day: Int

        var json: String { "{" + members.joined(separator: ",") + "}" }
    }

    private static let members = [
        #""name":"Ann""#, #""age":42"#, #""tags":[{"b":1,"a":2.50}]"#, #""city":"a\/\u00f6""#,
    ]
    private static let first = Run(token: "x7Rq2LmZ9sKd4TbVw8NcYh3J", members: members, boundary: "one", day: 1)
    private static let others: [Run] = [
        Run(token: "aB-9kLm_Qr2-xYz7TuVw_3HjN", members: members.reversed(), boundary: "other", day: 2),
        Run(token: "a-bCdEf9hIjKlMnOpQrStUvWx", members: [1, 3, 0, 2].map { members[$0] }, boundary: "b", day: 3),
        Run(token: "QwErTyUiOpAsDfGhJkLzXcVbN", members: members, boundary: "one", day: 4),
    ]

    private func record(_ run: Run, _ mode: CassetteMode, _ file: String, change: String = "") async throws {
        let rules = CassetteRules.silent
        let date = Date(timeIntervalSince1970: Double(run.day) * 86_400)
        let cassette = try Cassette(
            at: folder.path(file), mode: mode, rules: rules, clock: VirtualClock(date: date))
        let stub = StubConnection { request in
            let isLogin = request.head.path == "/login"
            let content = isLogin ? #"{"access_token":"\#(run.token)"}"# : #"{"name":"Ann\#(change)"}"#
            var fields: HTTPFields = [
                .contentType: "application/json", .date: HTTPDate(date).description,
                .contentLength: "\(content.utf8.count)",
            ]
            for name in ["X-RateLimit-Reset", "X-RateLimit-Remaining"].compactMap({ HTTPField.Name($0) }) {
                fields[name] = "\(run.day)"
            }
            return Response(status: .ok, fields: fields, body: Body(Data(content.utf8)))
        }
        let connection = CassetteConnection(cassette, recording: stub)
        var fields: HTTPFields = [.contentType: "application/json", .authorization: "Bearer \(run.token)"]
        fields[try #require(HTTPField.Name("Idempotency-Key"))] = "run-\(run.day)"
        _ = try await connection.send(.post("https://example.com/login", body: "me"))
        _ = try await connection.send(
            .post("https://example.com/users", fields: fields, body: Body(Data(run.json.utf8))))
        let form = "--\(run.boundary)\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--\(run.boundary)--\r\n"
        _ = try await connection.send(
            .post(
                "https://example.com/form?access_token=\(run.token)",
                fields: [.contentType: "multipart/form-data; boundary=\(run.boundary)"], body: Body(Data(form.utf8))))
        try await cassette.finish()
    }

    @Test(arguments: others.indices, ["a.json", "a.har"])
    func `Recording over a file changes no byte`(other: Int, file: String) async throws {
        try await record(Self.first, .once, file)
        let before = try folder.text(file)
        try await record(Self.others[other], .rewrite, file)
        #expect(try folder.text(file) == before)
    }

    @Test func `A change of one answer gives its new recording, and each secret one placeholder`() async throws {
        try await record(Self.first, .once, "a.json")
        try await record(Self.others[0], .rewrite, "a.json", change: "e")
        let interactions = try Cassette(at: folder.path("a.json"), mode: .replay).interactions()
        #expect(interactions[1].response?.body.bytes == Data(#"{"name":"Anne"}"#.utf8))
        let login = String(decoding: interactions[0].response?.body.bytes ?? Data(), as: UTF8.self)
        let token = login.dropFirst(#"{"access_token":""#.count).dropLast(2)
        #expect(interactions[1].request.fields[.authorization] == "Bearer \(token)")
        #expect(interactions[2].request.url.hasSuffix("access_token=\(token)"))
    }

    /// Records a request with a date, a nonce and a signature of one run.
    private func recordSigned(_ number: Int, _ mode: CassetteMode, rules: CassetteRules) async throws {
        let cassette = try Cassette(at: folder.path("signed.json"), mode: mode, rules: rules)
        let stub = StubConnection { _ in Response(status: .ok, body: "1") }
        var fields: HTTPFields = [.contentType: "application/json", .date: "run \(number)"]
        fields[try #require(HTTPField.Name("X-Date"))] = "2026112\(number)T101500Z"
        fields[try #require(HTTPField.Name("X-Shop-Signature"))] = "f3a\(number)9c"
        _ = try await CassetteConnection(cassette, recording: stub).send(
            .post(
                "https://example.com/orders?b=2&nonce=n\(number)&a=1", fields: fields,
                body: Body(#"{"item":"fig","nonce":"n\#(number)"}"#)))
        try await cassette.finish()
    }

    @Test func `Rules that ignore the signature of a request keep its recording as it is`() async throws {
        var rules = CassetteRules(matching: [.method, .url(ignoring: "nonce"), .body(ignoring: "**.nonce")])
        try await recordSigned(1, .once, rules: rules)
        let first = try folder.text("signed.json")
        try await recordSigned(2, .rewrite, rules: rules)
        #expect(try folder.text("signed.json") != first)
        rules.ignoredFields.formUnion(["X-Date", "X-Shop-Signature"].compactMap { HTTPField.Name($0) })
        let second = try folder.text("signed.json")
        try await recordSigned(3, .rewrite, rules: rules)
        #expect(try folder.text("signed.json") == second)
    }

    private static let digits = "9f86d081884c7d65" + "9a2feaa0c55ad015"
    private static let token = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlMTIz"

    private func login(_ mode: CassetteMode, _ token: String, isShared: Bool) async throws -> String {
        let shared = isShared ? SharedCassettes(isPartial: false) : nil
        let cassette = try CassetteDefaults(shared: shared).cassette(
            at: folder.path("shared.json"), rules: .silent, mode: mode, test: "FeedTests.login")
        let stub = StubConnection { _ in TestRecorder.json(#"{"access_token":"\#(token)"}"#) }
        let connection = CassetteConnection(cassette, recording: stub)
        _ = try await connection.send(.post("https://example.com/login", body: "me"))
        _ = try await connection.send(
            .post("https://example.com/refresh", fields: [.authorization: "Bearer \(token)"], body: "me"))
        try await cassette.finish()
        return try folder.text("shared.json")
    }

    @Test(arguments: [false, true]) func `A secret of another form gets a placeholder of that form`(isShared: Bool)
        async throws
    {
        let first = try await login(.once, Self.digits, isShared: isShared)
        let same = try await login(.rewrite, String(Self.digits.reversed()), isShared: isShared)
        #expect(same == first)
        _ = try await login(.rewrite, Self.token, isShared: isShared)
        let cassette = try Cassette(at: folder.path("shared.json"), mode: .replay, rules: .silent)
        for interaction in try cassette.interactions() {
            let content = String(decoding: interaction.response?.body.bytes ?? Data(), as: UTF8.self)
            #expect(content.split(separator: ".").count == 3, "\(content)")
        }
    }
}

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
