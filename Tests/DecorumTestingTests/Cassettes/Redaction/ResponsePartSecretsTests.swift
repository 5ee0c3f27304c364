import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Secrets in the parts of an exchange that most exchanges lack: trailers, interim responses, and a reason phrase.
@Suite(.timeLimit(.minutes(3))) struct ResponsePartSecretsTests {
    enum Part: CaseIterable, Sendable {
        case requestTrailers, responseTrailers, interimResponse
    }

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The secrets in fields, of requests and of responses.
    static let fields = PlantedSecret.all.filter { $0.fieldName != nil }

    private let rules = CassetteRules.silent

    /// Records an exchange in both formats; returns the texts of the files, or nil where they are refused.
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
    /// The name of the field that holds it; nil if it is elsewhere.
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
