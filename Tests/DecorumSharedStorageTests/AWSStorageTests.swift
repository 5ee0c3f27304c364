#if Signing && (os(macOS) || os(Linux))
import Decorum
import DecorumConformance
import DecorumSharedStorage
import DecorumSigning
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Storages over moto of PyPI, which checks signatures, and over answers that no service gives.
@Suite(.timeLimit(.minutes(5))) struct AWSStorageTests {
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_700_000_000))
    private let key: SharedKey

    init() throws { key = try #require(SharedKey("k")) }

    @Test(MotoServer.isInstalled, arguments: StorageCase.all)
    func `DynamoDB keeps each rule`(rule: StorageCase) async throws {
        let (server, clock) = (try await MotoServer.shared.value, clock)
        let connection = try server.connection(to: "dynamodb")
        let storage = try DynamoDBStorage(table: "shared", at: server.url, over: connection, clock: clock)
        _ = try await rule.check(passing: { clock.advance(by: $0) }, { storage })
    }

    @Test(MotoServer.isInstalled) func `DynamoDB takes one call for each change, whatever the clocks say`() async throws
    {
        let server = try await MotoServer.shared.value
        let (connection, early) = (try server.connection(to: "dynamodb"), VirtualClock(date: clock.date + 100))
        let ahead = try DynamoDBStorage(table: "shared", at: server.url, over: connection, clock: early)
        let storage = try DynamoDBStorage(table: "shared", at: server.url, over: connection, clock: clock)
        func write(_ condition: SharedCondition) async throws -> UInt64? {
            try await storage.write(Data([1]), for: key, expiringAfter: .seconds(5), if: condition)?.number
        }
        let first: UInt64 = 1_700_000_100_000_001
        #expect(try await ahead.write(Data(), for: key, expiringAfter: nil, if: .nothing)?.number == first)
        #expect(try await write(.nothing) == nil && connection.requests.count == 2)
        #expect(try await write(.anything) == first + 1)
        #expect(try await write(.version(SharedVersion(first))) == nil)
        #expect(try await write(.version(SharedVersion(first + 1))) == first + 2)
        #expect(try await storage.add(2, to: key, expiringAfter: .seconds(5)) == 2)
        clock.advance(by: .seconds(5))
        #expect(try await write(.nothing) == first + 3)
        // A removal holds on machines whose clocks are late, too.
        #expect(try await ahead.remove(key, if: .anything))
        #expect(try await write(.nothing) == first + 5 && connection.requests.count == 9)
        #expect(try await storage.add(7, to: key, expiringAfter: .seconds(Int64.max)) == 7)

        let (content, keys) = (BytePattern.bytes(storage.valueLimit), (0..<48).compactMap { SharedKey("large/\($0)") })
        for key in keys { _ = try await storage.write(content, for: key, expiringAfter: nil, if: .nothing) }
        let values = try await storage.values(for: keys)
        #expect(values.count == 48 && values.values.allSatisfy { $0.content == content })
        // The service sends 16 MiB at a time.
        #expect(connection.requests.count == 11 + 48 + 2)
        let last = String(decoding: connection.requests.last?.body.bytes ?? Data(), as: UTF8.self)
        #expect(last.contains(#""ConsistentRead":true"#))
    }

    @Test(MotoServer.isInstalled) func `S3 holds bodies of all names, which are written once`() async throws {
        let server = try await MotoServer.shared.value
        let (bucket, connection) = (server.url + "/bucket", try server.connection(to: "s3"))
        let storage = try S3BodyStorage(bucket: bucket, over: connection)
        let small = try S3BodyStorage(bucket: bucket + "/", bodyLimit: 3, over: connection)
        for (name, count) in [("..", 0), (".", 4), ("a//../b:/", 1 << 20)] {
            let (name, content) = (try #require(SharedKey(name)), BytePattern.bytes(count))
            for content in [content, Data([1])] { try await storage.write(content, named: name) }
            #expect(try await storage.content(named: name) == content)
            #expect(try await small.content(named: name) == (count > 3 ? nil : content))
            for _ in 0..<2 { try await storage.removeContent(named: name) }
            #expect(try await storage.content(named: name) == nil)
        }
        await #expect(throws: SharedStorageError(.tooLarge)) {
            try await small.write(Data(count: 4), named: key)
        }
        let stranger = try S3BodyStorage(bucket: bucket, over: server.connection(to: "s3", "x"))
        await #expect(throws: SharedStorageError(.refused("status 403"))) { try await stranger.content(named: key) }
        let foreign = try S3BodyStorage(bucket: bucket, over: StubConnection { _ in Response(status: .ok) })
        await #expect(throws: SharedStorageError(.unknownAnswer)) { try await foreign.content(named: key) }
    }

    /// A row has the status and the text of an answer, and what a read makes of it.
    @Test(
        arguments: [
            (200, item, "content"), (200, item.replacing("id", with: #"0":{"L":[{"BOOL":true}]},"id"#), "content"),
            (200, item.replacing("001", with: "000"), nil), (200, item.replacing("7000", with: "x"), nil),
            (200, item.replacing(#"{"N":"17"#, with: #"{"S":"17"#), nil),
            (200, item.replacing("\"7", with: "\"1.5"), nil),
            (200, item.replacing("\"7", with: "\"-7"), nil), (200, item.replacing("Y2", with: "%"), nil),
            (200, item.replacing("k", with: "other"), nil), (200, item.replacing(#""t""#, with: #""o""#), nil),
            (200, #"{"Responses":{"t":[1,null,[],{},{"id":{"S":1}}]},"UnprocessedKeys":{"t":{"Keys":[1]}}}"#, nil),
            (200, #"{"Responses":{},"UnprocessedKeys":{"t":{"Keys":[{"id":{"S":"k"}}]}}}"#, "UnprocessedKeys"),
            (200, "{}", "unknownAnswer"), (200, "[]", "unknownAnswer"), (200, "{", "unknownAnswer"),
            (204, "", "status 204"), (307, #"{"__type":5}"#, "status 307"), (400, conflict, conflictName),
            (400, conflict.replacing(conflictName, with: "ThrottlingException"), "ThrottlingException"),
        ])
    func `A damaged or foreign answer is a miss or an error`(status: Int, text: String, result: String?) async throws {
        #expect(try await read(status, text) == result)
    }

    @Test func `A huge or changed answer is a miss or an error`() async throws {
        #expect(try await read(200, item.replacing("Y2", with: String(repeating: "AAAA", count: 120_000))) == nil)
        for (text, count) in [("[", 1 << 20), (#"{"Responses":"#, 100_000)] {
            #expect(try await read(200, String(repeating: text, count: count)) == "unknownAnswer")
        }
        let (foreign, _) = try storage(answering: 200, item, type: "text/html")
        await #expect(throws: SharedStorageError(.unknownAnswer)) { try await foreign.values(for: [key]) }
        await #expect(throws: BodyLimitError.self) { try await read(200, String(repeating: " ", count: 25 << 20)) }
        let generator = SeededGenerator(seed: 1)
        for _ in 0..<(Footprint.isSoak ? 100_000 : 2_000) {
            var bytes = Array(item.utf8)
            bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
            let result = try await read(200, String(decoding: bytes, as: UTF8.self))
            #expect(result.map { $0 == "unknownAnswer" || $0.count <= 8 } ?? true)
        }
    }

    @Test func `A condition that does not hold ends a write at once, and an addition after four attempts`() async throws
    {
        let (storage, stub) = try storage(answering: 400, conflict)
        #expect(
            try await storage.write(Data(), for: key, expiringAfter: .seconds(Int64.min), if: .version(.init(.max)))
                == nil)
        await #expect(throws: SharedStorageError(.refused(conflictName))) {
            try await storage.add(.min, to: key, expiringAfter: .seconds(Int64.max))
        }
        #expect(stub.requests.count == 5)
    }

    @Test(arguments: ["-1", "1.5", "x", "18446744073709551616"])
    func `A change whose answer has no version is an error`(number: String) async throws {
        let text = #"{"Attributes":{"version":{"N":"\#(number)"}}}"#
        let (storage, _) = try storage(answering: 200, text)
        await #expect(throws: SharedStorageError(.unknownAnswer)) {
            try await storage.write(Data(), for: key, expiringAfter: nil, if: .nothing)
        }
    }

    /// What a read makes of an answer: the content or the reason of the error.
    private func read(_ status: Int, _ text: String) async throws -> String? {
        let (storage, stub) = try storage(answering: status, text)
        do {
            return try await storage.values(for: [key])[key].map { String(decoding: $0.content, as: UTF8.self) }
        } catch let error as SharedStorageError {
            #expect(stub.requests.count == (text.contains(#""Keys":[{"#) ? 4 : 1))
            if case .refused(let name) = error.reason { return name }
            return "\(error.reason)"
        }
    }

    private func storage(
        answering status: Int, _ text: String, type: String = "application/x-amz-json-1.0"
    ) throws -> (DynamoDBStorage, StubConnection) {
        let answer = Response(status: .init(code: status), fields: [.contentType: type], body: Body(Data(text.utf8)))
        let stub = StubConnection { _ in answer }
        return (try DynamoDBStorage(table: "t", at: "http://localhost", over: stub, clock: clock), stub)
    }
}

private let item = """
    {"Responses":{"t":[{"id":{"S":"k"},"version":{"N":"7"},"content":{"B":"Y29udGVudA=="},\
    "expiry":{"N":"1700000000000001"}}]}}
    """
private let conflictName = "ConditionalCheckFailedException"
private let conflict = #"{"__type":"a#\#(conflictName)"}"#

/// moto with a table and a bucket.
private enum MotoServer {
    private static let python = Task {
        await PythonLibraries.interpreter(
            with: "moto[dynamodb,iam,s3,server]==5.2.5", importing: "moto.server, moto.dynamodb, boto3")
    }
    static let isInstalled = ConditionTrait.enabled("libraries of PyPI cannot be installed on this machine") {
        await python.value != nil
    }
    static let shared = Task {
        let server = try await PythonServer("signing/aws_verifier", "serve", "shared", with: python.value)
        // From now on the server checks signatures.
        _ = try await SystemConnection().send(.post(server.url + "/moto-api/reset-auth", body: Body("0")))
        return server
    }
}

extension PythonServer {
    /// A connection that signs, with a wrong key if something is added to it, and keeps the requests.
    fileprivate func connection(to service: String, _ addition: String = "") throws -> StubConnection {
        let keys = try AWSCredentials(accessKeyID: words[1], secretAccessKey: words[2] + addition)
        let signer = SigV4(service: service, region: "us-east-1", credentials: keys)
        let connection = try SystemConnection().authenticating(with: .signer(signer), for: Origin(url))
        return StubConnection { try await connection.send($0) }
    }
}
#endif
