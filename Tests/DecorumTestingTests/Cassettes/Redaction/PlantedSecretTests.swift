import Decorum
import DecorumArchive
import DecorumAuthentication
import DecorumTestSupport
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// A secret at each of many places reaches no file, no log, no error and no description.
@Suite struct PlantedSecretTests {
    @Test func `There are enough places`() {
        #expect(PlantedSecret.all.count >= 120)
    }

    @Test(arguments: PlantedSecret.all + PlantedSecret.recorded, ["a.json", "a.har"])
    func `No file holds it`(planted: PlantedSecret, file: String) async throws {
        let folder = TemporaryFolder()
        var rules = CassetteRules()
        let reports = Mutex("")
        rules.reportReplacements = { list, _ in reports.withLock { $0 = "\(list)" } }
        let cassette = try Cassette(at: folder.path(file), mode: .append, rules: rules)
        let connection = CassetteConnection(cassette, recording: StubConnection { _ in planted.response() })
        _ = try await connection.send(planted.request()).body.collect(upTo: 10_000)

        var outputs = [cassette.description, "\(cassette)"]
        do {
            try await cassette.finish()
            outputs.append(try folder.text(file))
            outputs.append(reports.withLock { $0 })
            // The exchange that was recorded is found again with the secret in it.
            let replaying = try Cassette(at: folder.path(file), mode: .replay, rules: rules)
            _ = try await CassetteConnection(replaying).send(planted.request())
            outputs.append(String(decoding: try replaying.archive().document(), as: UTF8.self))
        } catch let error as SecretFoundError {
            outputs.append("\(error) \(String(reflecting: error))")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
        }
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.url.path) {
            outputs.append(
                String(decoding: FileManager.default.contents(atPath: folder.path(name)) ?? Data(), as: UTF8.self))
        }
        planted.expectAbsence(from: outputs)
    }

    @Test(arguments: ["token", "auth/csrf-token", "v1/session", "api/key?format=text"])
    func `An answer that is one random word is a secret behind the name of one`(path: String) async throws {
        let folder = TemporaryFolder()
        let rules = CassetteRules.silent
        for name in [path, "commits/latest/sha"] {
            let cassette = try Cassette(at: folder.path("a.json"), mode: .rewrite, rules: rules)
            let stub = StubConnection { _ in
                Response(
                    status: .ok, fields: [.contentType: "text/plain"],
                    body: Body(Data("\(PlantedSecret.opaque)\n".utf8)))
            }
            _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://api.example.com/\(name)"))
            try await cassette.finish()
            #expect(try folder.text("a.json").contains(PlantedSecret.opaque) == (name != path))
        }
    }

    /// Records a request with credentials and its answer; returns the file.
    private func recorded(_ answer: String, environment: [String: String] = [:]) async throws -> String {
        let folder = TemporaryFolder()
        var rules = CassetteRules.silent
        rules.environment = environment
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        let stub = StubConnection(
            Response(status: .ok, fields: [.contentType: "text/plain"], body: Body(Data(answer.utf8))))
        let request = try Request.get(
            "https://api.example.com/me", fields: [.authorization: "Basic \(PlantedSecret.basic)"])
        _ = try await CassetteConnection(cassette, recording: stub).send(request)
        try await cassette.finish()
        return try folder.text("a.json")
    }

    @Test func `The password of Basic credentials is replaced where a server repeats it decoded`() async throws {
        let text = try await recorded("me has \(PlantedSecret.opaque) as the password")
        #expect(!text.contains(PlantedSecret.opaque) && !text.contains(PlantedSecret.basic))
        #expect(text.contains("me has __"))
    }

    @Test(arguments: [PlantedSecret.uuid, "48213377", "ab12cd"])
    func `The value of an environment variable named like a secret reaches no file`(value: String) async throws {
        let error = await #expect(throws: SecretFoundError.self) {
            try await recorded("it is \(value).", environment: ["ACME_TOKEN": value])
        }
        #expect(error?.findings.map(\.variable) == ["ACME_TOKEN"])
        #expect(try await recorded("it is \(value).", environment: ["ACME_HOST": value]).contains(value))
    }

    @Test(arguments: ["Idempotency-Key", "X-Cache-Key", "Sec-WebSocket-Key", "X-Sort-Key", "X-Page-Key"])
    func `A field that names no secret is left`(name: String) throws {
        var fields = HTTPFields()
        fields[try #require(HTTPField.Name(name))] = name == "X-Page-Key" ? "next-page" : PlantedSecret.opaque
        #expect(SecretRewriting(.standard, by: Pseudonyms()).applied(to: fields) == fields)
    }

    // Services use UUIDs, and paths with random parts, as keys.
    @Test(arguments: [
        PlantedSecret.uuid, PlantedSecret.opaque, "a1/" + PlantedSecret.opaque, "3f2b8c1e5d4a4b6f9e7d2a1c0b9f8e7d",
        "prod/9f8a7b6c5d4e3f2a1b0c",
    ])
    func `A key of a service's own is replaced, whatever its form`(value: String) throws {
        let name = try #require(HTTPField.Name("X-Shop-Key"))
        #expect(SecretRewriting(.standard, by: Pseudonyms()).applied(to: [name: value]) != [name: value])
    }

    // A log does not remember a password, so it shows one that is echoed under another name.
    @Test(arguments: PlantedSecret.all.filter { !$0.template.contains("echo") })
    func `No log, error or description holds it`(planted: PlantedSecret) async throws {
        let entries = Mutex("")
        let sink = LogSink { entry in entries.withLock { $0 += entry } }
        let stub = StubConnection { request in
            _ = try await request.body.collect(upTo: 10_000)
            return planted.response(.badRequest)
        }
        let connection = stub.logging(to: sink, detail: .bodies(upTo: 4096))
        let request = try planted.request()
        var outputs = ["\(request)", String(reflecting: request)]
        dump(request, to: &outputs[0])
        let response = try await connection.send(request)
        outputs += ["\(response.metadata)", String(reflecting: response.metadata)]
        _ = try await response.body.collect(upTo: 10_000)

        let error = StatusError(method: .get, origin: nil, response: planted.response(.badRequest))
        outputs += ["\(error)", String(reflecting: error), Redaction.standard.description(of: error)]
        do {
            _ = try await stub.validatingStatus().send(planted.request())
        } catch {
            outputs += ["\(error)", Redaction.standard.description(of: error)]
        }
        var failure = TransportError(.connectionLost, at: .head)
        // Words of a platform may quote the URL.
        if case .url = planted.part { failure.detail = "cannot reach \(planted.text)" }
        outputs += ["\(failure)", String(reflecting: failure)]
        let thrown = failure
        let failing = StubConnection { _ in throw thrown }.logging(to: sink, detail: .fields)
        _ = try? await failing.send(planted.request())
        outputs.append(entries.withLock { $0 })
        planted.expectAbsence(from: outputs)
    }
}

/// A secret at each of many places reaches no text that a cassette shows or writes beside its file: misses and their reports,
/// explanations, the differences that verifying finds, and the report of the run.
@Suite(.timeLimit(.minutes(3))) struct PlantedOutputTests {
    private static let base = """
        {"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "https://api.example.com/items"},
        "response": {"status": 200, "headers": {"Content-Type": "application/json"}, "json": {"a": 1}}}]}
        """

    let folder = TemporaryFolder()
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_793_300_000))

    private func cassette(_ name: String, _ mode: CassetteMode, rules: CassetteRules = .silent) throws -> Cassette {
        try Cassette(at: folder.path(name), mode: mode, rules: rules, clock: clock)
    }

    /// Sends the request with the secret through a cassette, to a server whose answer has a status.
    private func send(_ planted: PlantedSecret, through cassette: Cassette, answer status: HTTPResponse.Status)
        async throws
    {
        let stub = StubConnection { _ in planted.response(status) }
        _ = try await CassetteConnection(cassette, recording: stub).send(planted.request()).body.collect(upTo: 10_000)
    }

    private func texts(of error: any Error) -> [String] {
        ["\(error)", String(reflecting: error), Redaction.standard.description(of: error)]
    }

    /// Records an exchange with the secret; a file is left also where it is refused.
    private func recorded(_ planted: PlantedSecret) async throws -> [String] {
        let cassette = try cassette("a.json", .rewrite)
        try await send(planted, through: cassette, answer: .ok)
        do {
            try await cassette.finish()
            return []
        } catch let error as SecretFoundError {
            try folder.write(Self.base, to: "a.json")
            return texts(of: error)
        }
    }

    /// Misses the recording by the method alone, so that all else is compared.
    private func missed(_ planted: PlantedSecret) async throws -> [String] {
        let explained = Mutex<[String]>([])
        var rules = CassetteRules.silent
        rules.reportExplanations = { explanation in
            explained.withLock { $0 += [explanation.description, explanation.details] }
        }
        var outputs: [String] = []
        for file in ["a.json", "base.json"] {
            let replaying = try cassette(file, .replay, rules: rules)
            var request = try planted.request()
            request.head.method = .patch
            let sent = request
            let miss = await #expect(throws: CassetteMissError.self) {
                try await CassetteConnection(replaying).send(sent)
            }
            let error = try #require(miss)
            outputs += texts(of: error) + [error.report]
            await #expect(throws: CassetteMissError.self) { try await replaying.finish() }
        }
        let explanations = explained.withLock { $0 }
        #expect(explanations.count == 4)
        return outputs + explanations
    }

    /// Verifies recordings against a server that refuses, and against one that answers with something else.
    private func verified(_ planted: PlantedSecret) async throws -> [String] {
        var outputs: [String] = []
        let refused = try cassette("base.json", .verify)
        try await send(planted, through: refused, answer: .badRequest)
        let drift = await #expect(throws: CassetteDriftError.self) { try await refused.finish() }
        outputs += texts(of: try #require(drift))
        for file in ["a.json", "base.json"] {
            let changed = try cassette(file, .verify)
            try await send(planted, through: changed, answer: .ok)
            if let drift = await changed.driftOfFailedTest() { outputs += texts(of: drift) }
            do { try await changed.finish() } catch { outputs += texts(of: error) }
        }
        return outputs
    }

    @Test(arguments: PlantedSecret.all + PlantedSecret.recorded)
    func `No miss, explanation, difference or report of a run holds it`(planted: PlantedSecret) async throws {
        try folder.write(Self.base, to: "base.json")
        let report = CassetteReportFile(at: folder.path("report"), isPartial: false, run: "1")
        var outputs = try await CassetteDefaults.$current.withValue(CassetteDefaults(report: report)) {
            try await recorded(planted) + missed(planted) + verified(planted)
        }
        outputs += try [folder.text("report.json"), folder.text("report.txt")]
        let cassettes = try report.report().cassettes
        #expect(cassettes.flatMap(\.missed).count == 2 && cassettes.contains { !$0.changed.isEmpty })
        // The random name of the folder may hold the digits of a short secret.
        planted.expectAbsence(from: outputs.map { $0.replacing(folder.url.path, with: "") })
    }
}

/// A secret at each of many places reaches no error and no event of the core, and no file of a store.
@Suite(.timeLimit(.minutes(3))) struct PlantedSinkTests {
    private struct Strict: Decodable {
        let missing: Int
    }

    private static func texts(of error: any Error) -> [String] {
        [
            "\(error)", String(reflecting: error), error.localizedDescription,
            Redaction.standard.description(of: error),
        ]
    }

    /// The texts of the error of a decoder; the list is empty if the content fits the type.
    private func failure<Value: Decodable & Sendable>(_ type: Value.Type, _ response: Response) async -> [String] {
        do {
            _ = try await response.decode(type, upTo: 10_000)
            return []
        } catch {
            return Self.texts(of: error)
        }
    }

    @Test(arguments: PlantedSecret.all) func `No error of a decoder holds it`(planted: PlantedSecret) async throws {
        var outputs: [String] = []
        for status in [HTTPResponse.Status.ok, .badRequest] {
            let stub = StubConnection { _ in planted.response(status) }
            let response = try await stub.send(planted.request())
            let missing = await failure(Strict.self, response)
            #expect(!missing.isEmpty)
            outputs += missing
            outputs += await failure([String: Int].self, response)
            outputs += await failure([String: URL].self, response)
            outputs += await failure([Date].self, response)
        }
        planted.expectAbsence(from: outputs)
    }

    @Test(arguments: PlantedSecret.all.filter { $0.location != nil })
    func `No error of a redirection holds it`(planted: PlantedSecret) async throws {
        let location = try #require(planted.location)
        let stub = StubConnection { _ in Response(status: .found, fields: [.location: location], body: "moved") }
        var outputs: [String] = []
        for limit in [0, 1, 5] {
            do {
                let response = try await stub.followingRedirects(upTo: limit)
                    .send(.get("https://api.example.com/start"))
                outputs += ["\(response)", String(reflecting: response), "\(response.metadata)"]
            } catch {
                outputs += Self.texts(of: error)
            }
        }
        #expect(outputs.count >= 9)
        planted.expectAbsence(from: outputs)
    }

    @Test(arguments: PlantedSecret.all) func `No error of a source of credentials holds it`(planted: PlantedSecret)
        async throws
    {
        let answer = StatusError(method: .post, origin: nil, response: planted.response(.badRequest))
        var loss = TransportError(.connectionLost, at: .head)
        if case .url = planted.part { loss.detail = "cannot reach \(planted.text)" }
        var outputs: [String] = []
        for error in [answer, loss] as [any Error] {
            let refresh = TokenRefreshError(underlying: error)
            outputs += Self.texts(of: refresh)
            for underlying in [error, refresh] as [any Error] {
                let request = try planted.request()
                let origin = try Origin(request.head)
                outputs += Self.texts(of: CredentialSourceError(origin: origin, underlying: underlying))
                let stub = StubConnection { _ in planted.response() }
                do {
                    let connection = stub.authenticating(from: FailingSource(error: underlying), for: origin)
                    let response = try await connection.send(request)
                    outputs.append("\(response)")
                } catch {
                    outputs += Self.texts(of: error)
                }
            }
        }
        planted.expectAbsence(from: outputs)
    }

    @Test(arguments: PlantedSecret.all) func `No error of a token holds it`(planted: PlantedSecret) throws {
        var outputs: [String] = []
        for text in [planted.secret, planted.text, planted.secret + "\n"] {
            do {
                let token = try Token(text, refreshToken: text, scope: text)
                outputs += ["\(token)", String(reflecting: token)]
            } catch {
                outputs += Self.texts(of: error)
            }
            let damaged = #expect(throws: InvalidTokenError.self) { try Token(storedForm: Data(text.utf8)) }
            outputs += Self.texts(of: try #require(damaged))
        }
        planted.expectAbsence(from: outputs)
    }

    @Test(arguments: PlantedSecret.all) func `No event holds it`(planted: PlantedSecret) async throws {
        let events = Mutex<[String]>([])
        let answer = StatusError(method: .get, origin: nil, response: planted.response(.badRequest))
        let stubs = [StubConnection { _ in planted.response() }, StubConnection { _ in throw answer }]
        for stub in stubs {
            for scope in CallReport.Scope.allCases {
                // With a clock of the machine, a duration may have the digits of a short secret.
                let connection = stub.observing(as: scope, clock: VirtualClock()) { event in
                    events.withLock { $0 += ["\(event)", String(reflecting: event), "\(event.outcome)"] }
                }
                _ = try? await connection.send(planted.request()).body.collect(upTo: 10_000)
            }
        }
        let outputs = events.withLock { $0 }
        #expect(outputs.count >= 6)
        planted.expectAbsence(from: outputs)
    }

    @Test(arguments: PlantedSecret.all) func `No report holds it`(planted: PlantedSecret) async throws {
        final class Reports: CallObserver {
            let all = Mutex<[CallReport]>([])
            func ended(_ report: CallReport) { all.withLock { $0.append(report) } }
        }
        let reports = Reports()
        let answer = StatusError(method: .get, origin: nil, response: planted.response(.badRequest))
        let redirection = planted.response(.found)
        let stubs = [
            StubConnection { _ in planted.response() }, StubConnection { _ in throw answer },
            StubConnection { request in request.head.path == "/" ? Response(status: .ok) : redirection },
        ]
        for stub in stubs {
            let connection = stub.followingRedirects(upTo: 2).observing(reports, clock: VirtualClock())
            let call = CallContext()
            var request = try planted.request()
            request.options.callContext = call
            do {
                let response = try await connection.send(request)
                _ = try await response.body.collect(upTo: 10_000)
                reports.all.withLock { $0.append(response.report) }
            } catch {
                reports.all.withLock { $0.append(CallReport(of: error, in: call)) }
            }
        }
        var outputs: [String] = []
        for report in reports.all.withLock({ $0 }) {
            let coded = String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
            outputs += ["\(report)", report.explain(), coded]
            dump(report, to: &outputs[outputs.count - 1])
            // The random number of a call may hold the digits of a short secret.
            outputs = outputs.map { $0.replacing("\(report.callID ?? 0)", with: "") }
        }
        #expect(outputs.count >= 15)
        planted.expectAbsence(from: outputs)
    }

    /// The text of all files of a store that has kept the answer to a request.
    private func stored(_ planted: PlantedSecret) async throws -> String {
        let folder = TemporaryFolder()
        let store = FileResponseStore(directory: folder.url.appending(path: "responses"))
        let stub = StubConnection { _ in
            var response = planted.response()
            response.head.headerFields[.cacheControl] = "max-age=600"
            return response
        }
        let request = try planted.request()
        let key = try #require(ResponseKey(request))
        _ = try await stub.caching(in: store).send(request).body.collect(upTo: 10_000)
        _ = await store.responses(for: key)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path)
        return names.map { name in
            String(decoding: FileManager.default.contents(atPath: folder.path(name)) ?? Data(), as: UTF8.self)
        }.joined(separator: "\n")
    }

    // The store keeps URLs and content as they are; they are readable by the user alone.
    @Test(arguments: PlantedSecret.all.filter(\.isInField))
    func `No field with it is written to the disk by a store`(planted: PlantedSecret) async throws {
        planted.expectAbsence(from: [try await stored(planted)])
    }

    @Test func `A field without a secret is written to the disk by a store`() async throws {
        let harmless = PlantedSecret(.responseField("X-Edition"), "edition §", "of-the-evening")
        #expect(try await stored(harmless).contains(harmless.secret))
    }
}

extension PlantedSecret {
    /// The URL to which a redirection with the secret leads; a secret elsewhere has no such URL.
    fileprivate var location: String? {
        switch part {
        case .url, .responseField("Location"): text
        case .requestField, .responseField, .requestContent, .responseContent: nil
        }
    }

    fileprivate var isInField: Bool {
        switch part {
        case .requestField, .responseField: true
        case .url, .requestContent, .responseContent: false
        }
    }
}

private struct FailingSource: CredentialSource {
    let error: any Error

    func credentials(for attempt: AuthenticationAttempt) async throws -> Credentials? { throw error }
}

/// Secrets in the parts of an exchange that most exchanges lack: trailers, interim responses, and a reason phrase.
@Suite(.timeLimit(.minutes(3))) struct ResponsePartSecretsTests {
    enum Part: CaseIterable, Sendable {
        case requestTrailers, responseTrailers, interimResponse
    }

    let folder = TemporaryFolder()

    /// The secrets in fields, of requests and of responses.
    static let fields = PlantedSecret.all.filter { $0.fieldName != nil }

    private let rules = CassetteRules.silent

    /// Records an exchange in both formats; returns the texts of the files, or nil after a refusal.
    private func recorded(_ answer: Response, to request: () throws -> Request) async throws -> [String]? {
        var texts: [String] = []
        for file in ["a.json", "a.har"] {
            let cassette = try Cassette(at: folder.path(file), mode: .append, rules: rules)
            let connection = CassetteConnection(cassette, recording: StubConnection { _ in answer })
            _ = try await connection.send(request()).body.collect(upTo: 1000)
            do {
                try await cassette.finish()
            } catch is SecretFoundError {
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
                continue
            }
            texts.append(try folder.text(file))
        }
        return texts.isEmpty ? nil : texts
    }

    @Test func `There are enough fields`() {
        #expect(Self.fields.count >= 20)
    }

    @Test(arguments: fields, Part.allCases)
    func `No file holds a secret of a field`(planted: PlantedSecret, part: Part) async throws {
        let name = try #require(planted.fieldName)
        let fields: HTTPFields = [try #require(HTTPField.Name(name)): planted.text]
        let trailed = Body(length: nil, replay: .fromStart) { _ in TrailingReader(fields: fields) }
        var answer = Response(status: .ok, body: part == .responseTrailers ? trailed : "content")
        if part == .interimResponse {
            answer.metadata.informational = [HTTPResponse(status: .init(code: 103), headerFields: fields)]
        }
        let texts = try await recorded(answer) {
            try part == .requestTrailers
                ? .post("https://api.example.com/items", body: trailed) : .get("https://api.example.com/items")
        }

        // A token that only its shape gives away is not replaced, so the file is refused.
        let isRefused = [PlantedSecret.gitHub, PlantedSecret.aws].contains(planted.secret)
        #expect((texts == nil) == isRefused)
        for text in texts ?? [] {
            #expect(text.lowercased().contains("\"\(name.lowercased())\""), "\(text)")
            for form in planted.forms { #expect(!text.contains(form), "\(text)") }
        }
    }

    @Test(arguments: [
        ("wrong token=§", PlantedSecret.opaque), ("password: §", PlantedSecret.opaque),
        ("see https://a.example/?token=§", PlantedSecret.opaque), ("it is §!", "hunter2"),
    ])
    func `A secret of a reason phrase is replaced`(template: String, secret: String) async throws {
        let reason = template.replacing("§", with: secret)
        let answer = Response(
            status: HTTPResponse.Status(code: 401, reasonPhrase: reason), fields: [.contentType: "application/json"],
            body: Body(Data(#"{"password":"hunter2"}"#.utf8)))
        let texts = try #require(try await recorded(answer) { try .get("https://api.example.com/items") })
        for text in texts { #expect(!text.contains(secret), "\(text)") }
        let replaying = try Cassette(at: folder.path("a.json"), mode: .replay)
        let played = try await CassetteConnection(replaying).send(.get("https://api.example.com/items"))
        let start = String(template.prefix { $0 != "§" })
        #expect(played.status.reasonPhrase.hasPrefix(start))
        #expect(played.status.reasonPhrase != start && played.status.reasonPhrase != reason)
    }

    @Test func `A reason phrase without a secret is recorded as it is`() async throws {
        let answer = Response(status: HTTPResponse.Status(code: 401, reasonPhrase: "Sign in, please"), body: "no")
        let texts = try #require(try await recorded(answer) { try .get("https://api.example.com/items") })
        for text in texts { #expect(text.contains("\"Sign in, please\"")) }
    }

    @Test func `A token in a reason phrase refuses the file, and the error does not show it`() async throws {
        let answer = Response(status: HTTPResponse.Status(code: 401, reasonPhrase: "not \(PlantedSecret.gitHub)"))
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        _ = try await CassetteConnection(cassette, recording: StubConnection(answer))
            .send(.get("https://api.example.com/items"))
        let error = await #expect(throws: SecretFoundError.self) { try await cassette.finish() }
        #expect(error?.findings.first?.path == "$.interactions[0].response.reason")
        #expect(error?.description.contains(PlantedSecret.gitHub) == false)
    }
}

extension PlantedSecret {
    /// The name of the field that holds it; a secret elsewhere has no such name.
    fileprivate var fieldName: String? {
        switch part {
        case .requestField(let name), .responseField(let name): name
        case .url, .requestContent, .responseContent: nil
        }
    }
}

private struct TrailingReader: BodyReader {
    let fields: HTTPFields
    private var chunks = ["content"]
    var trailers: HTTPFields? { chunks.isEmpty ? fields : nil }

    init(fields: HTTPFields) {
        self.fields = fields
    }

    mutating func next() async throws -> Data? {
        chunks.isEmpty ? nil : Data(chunks.removeFirst().utf8)
    }
}
