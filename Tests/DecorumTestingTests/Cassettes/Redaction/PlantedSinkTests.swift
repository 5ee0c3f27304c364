import Decorum
import DecorumAuthentication
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

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

    /// The texts of the error of a decoder; none where the content fits the type.
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
            for scope in ExchangeEvent.Scope.allCases {
                // With a clock of the machine, the digits of a duration may be those of a short secret.
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

    /// The text of all files of a store that has kept the answer to a request.
    private func stored(_ planted: PlantedSecret) async throws -> String {
        let folder = try TemporaryFolder()
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
    /// The URL to which a redirection with the secret leads; nil if no redirection has it.
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
