import Decorum
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5))) struct FileResponseStoreTests {
    let folder = StoreFolder()

    @Test(arguments: [0, 1, 9999, 65_535, 65_536, 65_537, 98_304, 200_000, 1 << 20])
    func `A response is returned unchanged, also after a restart`(length: Int) async throws {
        let stored = SampleResponse.response(
            1, version: 3, length: length, fields: [.contentType: "text/plain", .server: "<a>, <b>"], vary: "text/*")
        await folder.store().store(stored, for: try SampleResponse.key(1))

        let found = try #require(await folder.store().responses(for: SampleResponse.key(1)).first)

        #expect(await SampleResponse.isRight(found, 1))
        #expect(found.head == stored.head)
        #expect(found.selectingFields == stored.selectingFields)
        #expect(found.requestDate == stored.requestDate)
        #expect(found.date == stored.date)
        #expect(found.body.length == Int64(length))
        #expect(found.body.replay == .fromAnyOffset)
        #expect(folder.store().directoryError == nil)
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 299_999, 300_000]) func `A large body is read from any offset`(
        offset: Int
    ) async throws {
        await folder.store().store(SampleResponse.response(1, length: 300_000), for: try SampleResponse.key(1))
        let found = try #require(await folder.store().responses(for: SampleResponse.key(1)).first)

        for _ in 0..<2 {
            var reader = try await found.body.open(at: Int64(offset))
            var content = Data()
            while let chunk = try await reader.next() {
                #expect(!chunk.isEmpty)
                content.append(chunk)
            }
            #expect(content == SampleResponse.content(1, 0, 300_000).dropFirst(offset))
        }
    }

    @Test func `Each variant is stored, and the latest is returned first`() async throws {
        let store = folder.store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1, version: 1, vary: "a"), for: key)
        await store.store(SampleResponse.response(1, version: 3, vary: "b"), for: key)
        await store.store(SampleResponse.response(1, version: 2, vary: "c"), for: key)
        await store.store(SampleResponse.response(1, version: 4, vary: "a"), for: key)

        let found = await store.responses(for: key)

        let selected = found.compactMap { $0.selectingFields[.accept] }
        #expect(selected == ["a", "b", "c"])
        let versions = found.map { Int($0.date.timeIntervalSince1970 - 1e9) }
        #expect(versions == [4, 3, 2])
    }

    @Test func `The variants of a key are bounded, and the ones of the earliest requests are removed`() async throws {
        let store = folder.store()
        let key = try SampleResponse.key(1)
        for number in 0..<50 {
            await store.store(SampleResponse.response(1, version: number, vary: "\(number)"), for: key)
            let accepted = await store.responses(for: key).compactMap { $0.selectingFields[.accept] }
            #expect(accepted == (max(0, number - 15)...number).reversed().map { "\($0)" })
        }
        #expect(folder.files.count == 16)
    }

    @Test func `Keys are distinguished by URI, method, principal and host`() async throws {
        let store = folder.store()
        let host = try #require(HTTPField.Name("Host"))
        var keys = [
            try SampleResponse.key(1), try SampleResponse.key(2), try SampleResponse.key(1, principal: "a"),
            try SampleResponse.key(1, principal: ""), try SampleResponse.key(1, fields: [host: "elsewhere"]),
        ]
        keys.append(try #require(ResponseKey(SampleResponse.request(1), method: .head)))
        for (number, key) in keys.enumerated() { await store.store(SampleResponse.response(number), for: key) }

        for (number, key) in keys.enumerated() {
            let labels = await store.responses(for: key).map { $0.head.headerFields[SampleResponse.label] }
            #expect(labels == ["\(number)-0-1000"])
        }
    }

    @Test func `A removal removes the named responses, and no others`() async throws {
        let store = folder.store()
        func fill() async throws {
            for number in 0..<4 {
                for principal in [nil, "a", "b"] {
                    await store.store(
                        SampleResponse.response(number), for: try SampleResponse.key(number, principal: principal))
                }
            }
        }
        func counts(_ keys: [(Int, String?)]) async throws -> [Int] {
            var counts: [Int] = []
            for (number, principal) in keys {
                let key = try SampleResponse.key(number, principal: principal)
                counts.append(await store.responses(for: key).count)
            }
            return counts
        }

        try await fill()
        await store.removeResponses(for: try SampleResponse.key(0, principal: "a"))
        #expect(try await counts([(0, nil), (0, "a"), (0, "b")]) == [1, 0, 1])
        await store.removeResponses(at: try SampleResponse.key(1, principal: "b").uri)
        #expect(try await counts([(1, nil), (1, "a"), (1, "b"), (2, "a")]) == [0, 0, 0, 1])
        await store.removeResponses(of: Principal("a"))
        #expect(try await counts([(2, nil), (2, "a"), (3, "a"), (3, "b")]) == [1, 0, 0, 1])
        await store.removeResponses(of: nil)
        #expect(try await counts([(2, nil), (3, "b")]) == [0, 1])
        #expect(folder.files.count == 3)
        await store.removeAllResponses()
        #expect(folder.files.isEmpty)
    }

    @Test func `A body that was returned stays complete when it is replaced or removed`() async throws {
        let store = folder.store()
        await store.store(SampleResponse.response(1, length: 1 << 20), for: try SampleResponse.key(1))
        let found = try #require(await store.responses(for: SampleResponse.key(1)).first)
        var reader = try await found.body.open()
        var content = try #require(try await reader.next())

        await store.store(SampleResponse.response(1, version: 1, length: 1 << 20), for: try SampleResponse.key(1))
        await store.removeAllResponses()

        while let chunk = try await reader.next() { content.append(chunk) }
        #expect(content == SampleResponse.content(1, 0, 1 << 20))
        #expect(await SampleResponse.isRight(found, 1))
    }

    @Test func `Files are named by digests and readable by their user alone`() async throws {
        await folder.store().store(SampleResponse.response(1), for: try SampleResponse.key(1, principal: "somebody"))

        let path = try #require(folder.files.first)
        let name = path.split(separator: "/").last ?? ""
        #expect(name.count == 50)
        let digits = name.allSatisfy(\.isHexDigit)
        #expect(digits)
        func permissions(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try permissions(path) == 0o600)
        #expect(try permissions(folder.url.path) == 0o700)
        #expect(try permissions(String(path.dropLast(51))) == 0o700)
    }
}
