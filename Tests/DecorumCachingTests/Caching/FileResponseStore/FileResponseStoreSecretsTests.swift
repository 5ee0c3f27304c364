import Decorum
import Foundation
import HTTPTypes
import Testing

/// Responses that a store of files keeps in memory, because secrets are not written to the disk.
@Suite(.timeLimit(.minutes(5))) struct FileResponseStoreSecretsTests {
    let folder = StoreFolder()

    @Test(arguments: ["Authorization", "Cookie", "X-API-Key"])
    func `No secret of a request is written to disk, and its response stays in memory`(name: String) async throws {
        let store = folder.store()
        let fields: HTTPFields = [try #require(HTTPField.Name(name)): "hunter2"]
        let key = try SampleResponse.key(1, fields: fields)
        await store.store(SampleResponse.response(1), for: key)
        let writer = try #require(await store.writer(for: SampleResponse.response(2, body: .empty), key: key))
        #expect(await writer.write(Data("hunter2".utf8)))
        await writer.finish()

        #expect(await store.responses(for: key).count == 1)
        #expect(await store.responses(for: try SampleResponse.key(1)).isEmpty)
        #expect(folder.files.isEmpty)
        #expect(await folder.store().responses(for: key).isEmpty)
        await store.removeAllResponses()
        #expect(await store.responses(for: key).isEmpty)
    }

    @Test(arguments: ["Set-Cookie", "X-Acme-Session-Token", "Acme-API-Key"])
    func `No response with a secret is written to the disk, and it replaces the file`(name: String) async throws {
        let field = try #require(HTTPField.Name(name))
        let store = folder.store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        await store.store(
            SampleResponse.response(1, version: 1, fields: [field: "id=hunter2"]), for: key)
        #expect(folder.files.isEmpty)
        let secret = await store.responses(for: key)
        #expect(secret.count == 1)
        #expect(secret.first?.head.headerFields[field] == "id=hunter2")

        await store.store(SampleResponse.response(1, version: 2), for: key)
        let open = await store.responses(for: key)
        #expect(open.count == 1)
        #expect(open.first?.head.headerFields.contains(field) == false)
        #expect(folder.files.count == 1)
        let written = try folder.files.map { try Data(contentsOf: URL(filePath: $0)) }
        #expect(written.allSatisfy { $0.range(of: Data("hunter2".utf8)) == nil })
    }

    static let references: [(name: String, value: String, isSecret: Bool)] = [
        ("Location", "https://example.com/next?access_token=hunter2", true),
        ("Location", "/next?page=2#id_token=hunter2", true), ("Content-Location", "/page?sig=hunter2", true),
        ("Link", "<https://example.com/next?api_key=hunter2>; rel=next", true),
        ("Refresh", "0; url=https://example.com/?password=hunter2", true), ("Location", "/next?page=2", false),
        ("Link", "<https://example.com/next?page=2>; rel=next", false),
    ]

    @Test(arguments: references)
    func `No secret in a URL of a response field is written to the disk`(name: String, value: String, isSecret: Bool)
        async throws
    {
        let field = try #require(HTTPField.Name(name))
        let store = folder.store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1, fields: [field: value]), for: key)
        #expect(await store.responses(for: key).first?.head.headerFields[field] == value)
        #expect(folder.files.count == (isSecret ? 0 : 1))
    }

    @Test func `A response with a secret replaces its variant when it is complete`() async throws {
        let store = folder.store()
        let key = try SampleResponse.key(1)
        func versions() async -> [Int] {
            await store.responses(for: key).map { Int($0.date.timeIntervalSince1970 - 1e9) }
        }
        await store.store(SampleResponse.response(1, version: 1, vary: "a"), for: key)
        await store.store(SampleResponse.response(1, version: 2, vary: "b"), for: key)
        let secret = SampleResponse.response(1, version: 3, fields: [.setCookie: "x"], vary: "a", body: .empty)

        var writer = await store.writer(for: secret, key: key)
        #expect(await writer?.write(Data("x".utf8)) == true)
        #expect(await versions() == [2, 1])
        writer = nil
        #expect(await versions() == [2, 1])

        writer = await store.writer(for: secret, key: key)
        #expect(await writer?.write(Data(count: store.bodyLimit)) == false)
        await writer?.finish()
        #expect(await versions() == [2, 1])

        writer = await store.writer(for: secret, key: key)
        #expect(await writer?.write(Data("x".utf8)) == true)
        await writer?.finish()
        #expect(await versions() == [3, 2])
        await store.store(SampleResponse.response(1, version: 4, vary: "b"), for: key)
        #expect(await versions() == [4, 3])
        await store.store(SampleResponse.response(1, version: 5, vary: "a"), for: key)
        #expect(await versions() == [5, 4])
        #expect(folder.files.count == 2)
    }
}
