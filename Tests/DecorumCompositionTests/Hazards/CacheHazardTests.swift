import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Caches that keep what the server did not mean: the harm, the finding, and the mended stack.
@Suite(.timeLimit(.minutes(3))) struct CacheHazardTests {
    private let store = MemoryResponseStore()
    private let otherStore = MemoryResponseStore()

    @Test func `A field that is added inside of a cache gives a user the page in another language`() async throws {
        func server() -> StubConnection {
            StubConnection { request in
                Response(
                    status: .ok, fields: [.cacheControl: "max-age=3600", .vary: "Accept-Language"],
                    body: Body(request.head.headerFields[.acceptLanguage] ?? ""))
            }
        }
        func wrong(_ language: String, _ stub: StubConnection) throws -> some Connection {
            try stub.acceptingLanguages([language]).caching(in: store)
        }
        func mended(_ language: String, _ stub: StubConnection) throws -> some Connection {
            try stub.caching(in: otherStore).acceptingLanguages([language])
        }
        let (one, two) = (server(), server())

        _ = try await wrong("en", one).send(.page(of: "user")).text()
        #expect(try await wrong("de", one).send(.page(of: "user")).text() == "en")
        _ = try await mended("en", two).send(.page(of: "user")).text()
        #expect(try await mended("de", two).send(.page(of: "user")).text() == "de")

        try expectFinding(
            of: "fieldsInsideOfCache", in: wrong("en", one), naming: ["acceptingLanguages", "caching"],
            notIn: mended("en", two))
    }

    @Test func `Compressed content outside of a cache keeps a QUERY from being answered from the store`() async throws {
        let (twice, once) = (StubConnection { _ in .page }, StubConnection { _ in .page })
        let content = Body(String(repeating: "select ", count: 1000))
        var query = try Request.post("https://a.example/", body: content)
        query.head.method = .query
        query.options.principal = Principal("user")
        let wrong = twice.caching(in: store).compressing()
        let mended = once.compressing().caching(in: otherStore)

        _ = try await wrong.send(query).text()
        _ = try await twice.caching(in: store).send(query).text()
        _ = try await mended.send(query).text()
        _ = try await once.caching(in: otherStore).send(query).text()

        #expect(twice.requests.count == 2 && once.requests.count == 1)
        expectFinding(of: "contentChangedOutsideOfCache", in: wrong, naming: ["compressing", "caching"], notIn: mended)
    }

    @Test func `Callers of a shared request wait for each other where the cache could answer`() async throws {
        let (shared, own) = (StubConnection { _ in .page }, StubConnection { _ in .page })
        let wrong = shared.caching(in: store).coalescing()
        let mended = own.coalescing().caching(in: otherStore)
        for connection: any Connection in [wrong, mended] { _ = try await connection.send(.page).text() }

        for (connection, isShared) in [(wrong as any Connection, true), (mended, false)] {
            async let first = connection.send(.page).metadata.isCoalesced
            async let second = connection.send(.page).metadata.isCoalesced
            let sharing = try await [first, second]
            #expect(isShared || !sharing.contains(true))
        }
        #expect(shared.requests.count == 1 && own.requests.count == 1)
        expectFinding(of: "sharingOutsideOfCache", in: wrong, naming: ["coalescing", "caching"], notIn: mended)
    }

    @Test func `A cache outside of redirections keeps a target that the server has left`() async throws {
        func server() -> StubConnection {
            let target = Mutex("/old")
            return StubConnection { request in
                guard request.head.path == "/" else {
                    return Response(
                        status: .ok, fields: [.cacheControl: "max-age=3600"], body: Body(request.head.path ?? ""))
                }
                return .redirection(
                    to: target.withLock { target in
                        defer { target = "/new" }
                        return target
                    })
            }
        }
        let wrong = server().followingRedirects().caching(in: store)
        let mended = server().caching(in: otherStore).followingRedirects()

        for (connection, expected) in [(wrong as any Connection, "/old"), (mended, "/new")] {
            _ = try await connection.send(.page(of: "user")).text()
            #expect(try await connection.send(.page(of: "user")).text() == expected)
        }

        expectFinding(
            of: "cacheOutsideOfRedirections", in: wrong, naming: ["caching", "followingRedirects"], notIn: mended)
    }

    @Test func `A cache outside of decompression stores the decoded content`() async throws {
        let coded = try #require(
            Data(base64Encoded: "H4sIAAAAAAACA0tMHB4AAFjwmlnIAAAA"), "It is 200 times `a`.")
        func server() -> StubConnection {
            StubConnection { _ in
                Response(
                    status: .ok,
                    fields: [.contentEncoding: "gzip", .cacheControl: "max-age=3600", .eTag: #""coded""#],
                    body: Body(coded))
            }
        }
        let wrong = server().decompressing().caching(in: store)
        let mended = server().caching(in: otherStore).decompressing()
        for connection: any Connection in [wrong, mended] {
            #expect(try await connection.send(.page).text() == String(repeating: "a", count: 200))
        }

        let key = try #require(ResponseKey(.page))
        let decoded = store.responses(for: key).first
        let kept = otherStore.responses(for: key).first
        #expect(decoded?.body.length == 200)
        #expect(kept?.body.length == Int64(coded.count))
        expectFinding(of: "cacheOutsideOfDecoding", in: wrong, naming: ["caching", "decompressing"], notIn: mended)
    }

    @Test func `A cache stores what a layer allows to be stored, against the will of the server`() async throws {
        let secret = Response(status: .ok, fields: [.cacheControl: "no-store"], body: "private")
        let (kept, asked) = (StubConnection { _ in secret }, StubConnection { _ in secret })
        let wrong = allowing(kept).caching(in: store)
        let mended = allowing(asked.caching(in: otherStore))

        for _ in 1...2 {
            _ = try await wrong.send(.page).text()
            _ = try await mended.send(.page).text()
        }

        #expect(kept.requests.count == 1 && asked.requests.count == 2)
        expectFinding(of: "cacheOutsideOfChanges", in: wrong, naming: ["caching", "allowing"], notIn: mended)
    }

    private func allowing(_ base: some Connection) -> some Connection {
        base.intercepting("allowing", facts: [.changesResponse]) { request, base in
            var response = try await base.send(request)
            response.head.headerFields[.cacheControl] = "max-age=3600"
            return response
        }
    }

    @Test func `A cache gives an invented answer after the server has come back`() async throws {
        func server() -> StubConnection {
            StubConnection(answers: [{ _ in .busy }], then: { _ in .page })
        }
        let wrong = inventing(server()).caching(in: store)
        let mended = inventing(server().caching(in: otherStore))

        for (connection, expected) in [(wrong as any Connection, "invented"), (mended, "page")] {
            #expect(try await connection.send(.page).text() == "invented")
            #expect(try await connection.send(.page).text() == expected)
        }

        expectFinding(of: "cacheOutsideOfInvention", in: wrong, naming: ["caching", "inventing"], notIn: mended)
    }

    private func inventing(_ base: some Connection) -> some Connection {
        base.intercepting("inventing", facts: [.inventsAnswers]) { request, base in
            let response = try await base.send(request)
            guard response.status == .serviceUnavailable else { return response }
            return Response(status: .ok, fields: [.cacheControl: "max-age=3600"], body: "invented")
        }
    }

    @Test func `Two layers over one store let the inner one confirm old content`() async throws {
        func server() -> StubConnection {
            let version = Mutex(0)
            return StubConnection { _ in
                let number = version.withLock { version in
                    version += 1
                    return version
                }
                return Response(
                    status: .ok, fields: [.cacheControl: "max-age=3600", .eTag: "\"\(number)\""],
                    body: Body("\(number)"))
            }
        }
        let wrong = server().caching(in: store).revalidating(in: store)
        let mended = server().revalidating(in: otherStore)

        for (connection, expected) in [(wrong as any Connection, "1"), (mended, "2")] {
            _ = try await connection.send(.page).text()
            #expect(try await connection.send(.page).text() == expected)
        }

        expectFinding(of: "stateUsedTwice", in: wrong, naming: ["revalidating", "caching"], notIn: mended)
        let separate = server().caching(in: store).caching(in: otherStore)
        #expect(!separate.findings.contains { $0.hazard == "stateUsedTwice" })
    }

    @Test func `Two stores over one directory are one store`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "hazard-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let stores = ["a", "a", "b"].map { FileResponseStore(directory: directory.appending(path: $0)) }
        let stub = StubConnection()
        let wrong = stub.caching(in: stores[0]).revalidating(in: stores[1])
        expectFinding(
            of: "stateUsedTwice", in: wrong, naming: ["revalidating", "caching"],
            notIn: stub.caching(in: stores[0]).revalidating(in: stores[2]))
    }

    @Test func `A layer that answers with the 304 needs the principal too`() throws {
        let connection = try StubConnection { _ in .page }.authenticating(with: .bearer("t"), for: site)
            .revalidating(in: store, answering: .notModified)
        expectFinding(
            of: "principalMissing", in: connection, naming: ["revalidating", "authenticating"],
            notIn: connection.acting(for: Principal("user")))
    }
}
