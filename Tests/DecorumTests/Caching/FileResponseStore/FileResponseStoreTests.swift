import Decorum
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5))) struct FileResponseStoreTests {
    let folder = StoreFolder()

    private func store(byteLimit: Int = 64 << 20) -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: byteLimit)
    }

    @Test(arguments: [0, 1, 9999, 65_535, 65_536, 65_537, 98_304, 200_000, 1 << 20])
    func `A response comes back as it was, also after a restart`(length: Int) async throws {
        let stored = SampleResponse.response(
            1, version: 3, length: length, fields: [.contentType: "text/plain", .server: "<a>, <b>"], vary: "text/*")
        await store().store(stored, for: try SampleResponse.key(1))

        let found = try #require(await store().responses(for: SampleResponse.key(1)).first)

        #expect(await SampleResponse.isRight(found, 1))
        #expect(found.head == stored.head)
        #expect(found.selectingFields == stored.selectingFields)
        #expect(found.requestDate == stored.requestDate)
        #expect(found.date == stored.date)
        #expect(found.body.length == Int64(length))
        #expect(found.body.replay == .fromAnyOffset)
        #expect(store().directoryError == nil)
    }

    @Test func `Bytes that are no text come back in fields too`() async throws {
        let value: [UInt8] = [0x63, 0xE9, 0xFF, 0x80]
        let response = SampleResponse.response(
            1, status: .init(code: 299, reasonPhrase: "As it were"),
            fields: HTTPFields([HTTPField(name: .server, lenientValue: value)]))
        await store().store(response, for: try SampleResponse.key(1))

        let found = try #require(await store().responses(for: SampleResponse.key(1)).first)

        let field = try #require(found.head.headerFields.first { $0.name == .server })
        #expect(field.bytes == value)
        #expect(found.head.status.reasonPhrase == "As it were")
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 299_999, 300_000]) func `A large body is read from any offset`(
        offset: Int
    ) async throws {
        await store().store(SampleResponse.response(1, length: 300_000), for: try SampleResponse.key(1))
        let found = try #require(await store().responses(for: SampleResponse.key(1)).first)

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

    @Test func `Each variant is kept, and the latest comes first`() async throws {
        let store = store()
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

    @Test func `The variants of a key are bounded, and those longest unused go`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        func accepted() async -> Set<String> {
            Set(await store.responses(for: key).compactMap { $0.selectingFields[.accept] })
        }
        for number in 0..<16 {
            let known = Set(folder.files)
            await store.store(SampleResponse.response(1, version: number, vary: "\(number)"), for: key)
            let path = try #require(folder.files.first { !known.contains($0) })
            let date = Date(timeIntervalSinceNow: number == 5 ? -50 : Double(number) - 40)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        }
        #expect(await accepted().count == 16)

        await store.store(SampleResponse.response(1, version: 16, vary: "16"), for: key)
        #expect(await accepted() == Set((0...16).map { "\($0)" }).subtracting(["5"]))
        for number in 20..<50 {
            await store.store(SampleResponse.response(1, version: number, vary: "\(number)"), for: key)
            #expect(await accepted().contains("\(number)"))
        }
        #expect(folder.files.count == 16)
    }

    @Test func `Keys are kept apart by URI, method, principal and host`() async throws {
        let store = store()
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

    @Test func `What is forgotten is gone, and nothing else`() async throws {
        let store = store()
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

    @Test func `A second store sees what the first keeps and forgets, at once`() async throws {
        let (first, second) = (store(), store())
        for round in 0..<50 {
            let key = try SampleResponse.key(round % 3)
            #expect(await second.responses(for: key).isEmpty)
            await first.store(SampleResponse.response(round % 3, version: round), for: key)
            let found = await second.responses(for: key)
            #expect(found.first?.date == Date(timeIntervalSince1970: 1e9 + Double(round)))
            await second.removeResponses(for: key)
            #expect(await first.responses(for: key).isEmpty)
        }
    }

    @Test func `A response that was confirmed is stored again with the body that was given out`() async throws {
        for length in [1000, 1 << 20] {
            let store = store()
            await store.store(SampleResponse.response(1, version: 0, length: length), for: try SampleResponse.key(1))
            let found = try #require(await store.responses(for: SampleResponse.key(1)).first)
            let confirmed = SampleResponse.response(1, length: length, fields: [.age: "7"], body: found.body)
            await store.store(confirmed, for: try SampleResponse.key(1))

            let again = await self.store().responses(for: try SampleResponse.key(1))
            let ages = again.compactMap { $0.head.headerFields[.age] }
            #expect(ages == ["7"])
            #expect(await SampleResponse.isRight(try #require(again.first), 1))
            #expect(await SampleResponse.isRight(found, 1))
            #expect(folder.files.count == 1)
        }
    }

    @Test func `A body that was given out stays whole when it is replaced or forgotten`() async throws {
        let store = store()
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
        await store().store(SampleResponse.response(1), for: try SampleResponse.key(1, principal: "somebody"))

        let path = try #require(folder.files.first)
        let name = path.split(separator: "/").last ?? ""
        #expect(name.count == 80)
        let digits = name.allSatisfy(\.isHexDigit)
        #expect(digits)
        func permissions(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try permissions(path) == 0o600)
        #expect(try permissions(folder.url.path) == 0o700)
        #expect(try permissions(String(path.dropLast(81))) == 0o700)
    }
}

extension FileResponseStoreTests {
    @Test(arguments: ["Authorization", "Cookie", "X-API-Key"])
    func `No secret of a request goes to the disk, and its response is kept in memory`(name: String) async throws {
        let store = store()
        let fields: HTTPFields = [try #require(HTTPField.Name(name)): "hunter2"]
        let key = try SampleResponse.key(1, fields: fields)
        await store.store(SampleResponse.response(1), for: key)
        let writer = try #require(await store.writer(for: SampleResponse.response(2, body: .empty), key: key))
        #expect(await writer.write(Data("hunter2".utf8)))
        await writer.finish()

        #expect(await store.responses(for: key).count == 1)
        #expect(await store.responses(for: try SampleResponse.key(1)).isEmpty)
        #expect(folder.files.isEmpty)
        #expect(await self.store().responses(for: key).isEmpty)
        await store.removeAllResponses()
        #expect(await store.responses(for: key).isEmpty)
    }

    @Test(arguments: ["Set-Cookie", "X-Acme-Session-Token", "Acme-API-Key"])
    func `No secret of a response goes to the disk, and takes the place of what is there`(name: String) async throws {
        let field = try #require(HTTPField.Name(name))
        let store = store()
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
    func `No secret in a URL that a response refers to goes to the disk`(name: String, value: String, isSecret: Bool)
        async throws
    {
        let field = try #require(HTTPField.Name(name))
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1, fields: [field: value]), for: key)
        #expect(await store.responses(for: key).first?.head.headerFields[field] == value)
        #expect(folder.files.count == (isSecret ? 0 : 1))
    }

    @Test func `A response with a secret takes its variant's place, once it is whole`() async throws {
        let store = store()
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

    @Test func `A body is written as it arrives and read back in parts`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        let length = 5 << 20
        let content = SampleResponse.content(1, 0, length)
        let writer = try #require(
            await store.writer(for: SampleResponse.response(1, length: length, body: .empty), key: key))
        var rest = content[...]
        let generator = SeededGenerator(seed: 1)
        while !rest.isEmpty {
            let count = Int(generator.next() % 150_000)
            #expect(await writer.write(Data(rest.prefix(count))))
            rest = rest.dropFirst(count)
            #expect(await store.responses(for: key).isEmpty)
        }
        await writer.finish()
        await writer.finish()

        let found = try #require(await self.store().responses(for: key).first)
        #expect(found.body.bytes == nil)
        var read = Data()
        for try await chunk in found.body {
            #expect(chunk.count <= 256 << 10)
            read.append(chunk)
        }
        #expect(read == content)
        #expect(folder.files.count == 1)
    }

    @Test(arguments: [10, 100_000, 1 << 20]) func `A writer that is dropped leaves nothing`(length: Int) async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        var writer = await store.writer(for: SampleResponse.response(1, version: 1, body: .empty), key: key)
        #expect(await writer?.write(Data(count: length)) == true)
        writer = nil

        #expect(folder.files.count == 1)
        #expect(await store.responses(for: key).first?.date == Date(timeIntervalSince1970: 1e9))
    }

    @Test func `A body above the limit is let go while it is written`() async throws {
        let store = store(byteLimit: 4 << 20)
        #expect(store.bodyLimit == 1 << 20)
        let key = try SampleResponse.key(1)
        let writer = try #require(await store.writer(for: SampleResponse.response(1, body: .empty), key: key))
        #expect(await writer.write(Data(count: 1 << 20)))
        #expect(await writer.write(Data(count: 1)) == false)
        #expect(await writer.write(Data(count: 1)) == false)
        await writer.finish()
        await store.store(SampleResponse.response(1, length: 1 << 20 + 1), for: key)

        #expect(await store.responses(for: key).isEmpty)
        #expect(folder.files.isEmpty)
    }

    @Test(arguments: [10, 200_000]) func `What is forgotten while it is written is not kept`(length: Int) async throws {
        let store = store()
        let key = try SampleResponse.key(1, principal: "a")
        let removals: [@Sendable () async -> Void] = [
            { await store.removeResponses(for: key) }, { await store.removeResponses(at: key.uri) },
            { await store.removeResponses(of: Principal("a")) }, { await store.removeAllResponses() },
        ]
        for remove in removals {
            let writer = try #require(await store.writer(for: SampleResponse.response(1, body: .empty), key: key))
            #expect(await writer.write(Data(count: length)))
            await remove()
            await writer.finish()
            #expect(await store.responses(for: key).isEmpty)
            #expect(folder.files.isEmpty)
        }
    }

    @Test func `Reading stops when its task is cancelled, and goes on in another`() async throws {
        let store = store()
        await store.store(SampleResponse.response(1, length: 1 << 20), for: try SampleResponse.key(1))
        let found = try #require(await store.responses(for: SampleResponse.key(1)).first)

        let reading = Task {
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            return try await found.body.data(upTo: .max)
        }

        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(await SampleResponse.isRight(found, 1))
    }

    @Test func `A task that is cancelled while it writes loses nothing of what it has finished`() async throws {
        let store = store()
        for length in [10, 300_000] {
            let key = try SampleResponse.key(length)
            let writing = Task {
                unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
                let response = SampleResponse.response(length, length: length, body: .empty)
                let writer = await store.writer(for: response, key: key)
                #expect(await writer?.write(SampleResponse.content(length, 0, length)) == true)
                await writer?.finish()
            }
            await writing.value
            let found = try #require(await store.responses(for: key).first)
            #expect(await SampleResponse.isRight(found, length))
        }
    }
}

extension HTTPField {
    fileprivate var bytes: [UInt8] {
        // Copied within the closure.
        unsafe withUnsafeBytesOfValue { bytes in unsafe Array(bytes) }
    }
}
