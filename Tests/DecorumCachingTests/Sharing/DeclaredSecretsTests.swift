import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A secret that a layer declares is a secret for every layer further in.
struct DeclaredSecretsTests {
    /// A layer that sets a field with a neutral name, and declares it secret.
    enum Declaring: String, CaseIterable {
        case addingDefaultFields, overridingFields, intercepting

        func stack(on base: some Connection) throws -> any Connection {
            let name = try #require(HTTPField.Name("X-Zeug"))
            switch self {
            case .addingDefaultFields:
                return base.addingDefaultFields(secretFields: [name]) { [name: $0.options[UserKey.self] ?? ""] }
            case .overridingFields:
                return base.overridingFields(secretFields: [name]) { [name: $0.options[UserKey.self] ?? ""] }
            case .intercepting:
                return base.intercepting(facts: [.addsCredentials], secretFields: [name]) { request, base in
                    var request = request
                    request.head.headerFields[name] = request.options[UserKey.self]
                    return try await base.send(request)
                }
            }
        }
    }

    private func get(as user: String) throws -> Request {
        var request = try Request.get("https://example.com/page")
        request.options[UserKey.self] = user
        return request
    }

    @Test(arguments: Declaring.allCases)
    func `A redirection inside drops the secret before another origin`(declaring: Declaring) async throws {
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "https://other.example/"]), Response(status: .ok))
        _ = try await declaring.stack(on: stub.followingRedirects()).send(get(as: "alice"))
        #expect(stub.requests.map(\.user) == ["alice", nil])
    }

    @Test(arguments: Declaring.allCases)
    func `A log inside does not show the secret`(declaring: Declaring) async throws {
        let log = Mutex("")
        let stub = StubConnection(Response(status: .ok))
        let sink = LogSink { entry in log.withLock { $0 += entry } }
        let connection = try declaring.stack(on: stub.logging(to: sink, detail: .bodies(upTo: 1000)))
        _ = try await connection.send(get(as: "alice")).body.data(upTo: 10)
        #expect(log.withLock { $0 }.lowercased().contains("x-zeug"))
        #expect(!log.withLock { $0 }.contains("alice"))
    }

    @Test(arguments: Declaring.allCases)
    func `A cache inside separates the responses of two users`(declaring: Declaring) async throws {
        let stub = StubConnection { request in
            Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: Body(request.user ?? "public"))
        }
        let connection = try declaring.stack(on: stub.caching(in: MemoryResponseStore()))
        for user in ["alice", "bob", "alice", "bob"] {
            #expect(try await connection.send(get(as: user)).body.text(upTo: 10) == user)
        }
        #expect(stub.requests.count == 2)
    }
}
