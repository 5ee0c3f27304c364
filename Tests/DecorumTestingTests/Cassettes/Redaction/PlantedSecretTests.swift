import Decorum
import DecorumArchive
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A secret at each of many places reaches no file, no log, no error and no description.
@Suite struct PlantedSecretTests {
    @Test func `There are enough places`() {
        #expect(PlantedSecret.all.count >= 120)
    }

    @Test(arguments: PlantedSecret.all + PlantedSecret.recorded, ["a.json", "a.har"])
    func `No file holds it`(planted: PlantedSecret, file: String) async throws {
        let folder = try TemporaryFolder()
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
        let folder = try TemporaryFolder()
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
        let folder = try TemporaryFolder()
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
