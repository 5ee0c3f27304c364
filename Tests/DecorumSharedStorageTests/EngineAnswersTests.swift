import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSharedStorage

/// Engines that answer with what no engine should.
struct EngineAnswersTests {
    private let keys = ["a", "b"].compactMap { SharedKey($0) }

    private static func bytes(_ version: UInt64, _ text: String) -> Data {
        Data((0..<8).map { UInt8(truncatingIfNeeded: version >> (56 - 8 * $0)) }) + Data(text.utf8)
    }

    @Test(arguments: [
        (nil, nil), (bytes(7, "text"), "text"), (bytes(7, ""), ""), (bytes(7, "longer"), nil),
        (bytes((1 << 53) - 1, "text"), "text"), (bytes(1 << 53, "text"), nil), (Data("foreign".utf8), nil),
        (Data("foreign text".utf8), nil),
    ])
    func `A value that Redis has from elsewhere is a miss`(reply: Data?, content: String?) async throws {
        let storage = RedisStorage(valueLimit: 5) { _ in [nil, reply] }
        let values = try await storage.values(for: keys)
        #expect(values[keys[1]]?.content == content.map { Data($0.utf8) } && values.count == (content == nil ? 0 : 1))
    }

    @Test(arguments: [[], ["-1"], ["0"], ["7", "8", "9"], ["text"], [""], ["9223372036854775808"], [nil]])
    func `An unknown reply of Redis is an error`(reply: [String?]) async throws {
        let storage = RedisStorage { _ in reply.map { $0.map { Data($0.utf8) } } }
        await #expect(throws: SharedStorageError(.unknownAnswer)) { try await storage.values(for: keys) }
        // An empty reply says that the condition does not hold.
        if !reply.isEmpty {
            await #expect(throws: SharedStorageError(.unknownAnswer)) {
                try await storage.write(Data(), for: keys[0], expiringAfter: .nanoseconds(Int64.max), if: .anything)
            }
        }
        guard reply != ["-1"], reply != ["0"] else { return }
        await #expect(throws: SharedStorageError(.unknownAnswer)) {
            try await storage.add(.min, to: keys[0], expiringAfter: .seconds(Int64.min))
        }
    }

    private static func answer(key: String = "ZGVjb3J1bS92OmI=", value: String = "dGV4dA==", revision: String = "7")
        -> String
    {
        """
        {"header":{"revision":"9"},"succeeded":true,"ID":"5","responses":[{"response_range":{}},{"response_range":\
        {"kvs":[{"key":"\(key)","value":"\(value)","mod_revision":"\(revision)","lease":"3"}],"count":"1"}}]}
        """
    }

    @Test(arguments: [
        (answer(), "text"), (answer(value: ""), ""), (answer(value: "bG9uZ2Vy"), nil),
        (answer(key: "ZGVjb3J1bS92OmE="), nil),
        (answer(revision: "-7"), nil), (answer(revision: "x"), nil),
        (#"{"header":{"revision":"1"},"responses":[{},{}]}"#, nil),
    ])
    func `A value that etcd has from elsewhere is a miss`(answer: String, content: String?) async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: Body(answer)) }
        let values = try await EtcdStorage(over: stub, valueLimit: 5).values(for: keys)
        #expect(values[keys[1]]?.content == content.map { Data($0.utf8) } && values.count == (content == nil ? 0 : 1))
    }

    @Test(arguments: [
        (503, answer(), .refused("status 503")), (200, "<html>", .unknownAnswer), (200, "{}", .unknownAnswer),
        (200, String(repeating: "[", count: 10_000), .unknownAnswer),
        (200, answer(value: "not base64!"), SharedStorageError.Reason.unknownAnswer),
    ])
    func `An unknown answer of etcd is an error`(
        status: Int, answer: String, reason: SharedStorageError.Reason
    ) async throws {
        let storage = EtcdStorage(
            over: StubConnection { _ in Response(status: .init(code: status), body: Body(answer)) })
        await #expect(throws: SharedStorageError(reason)) { try await storage.values(for: keys) }
        await #expect(throws: SharedStorageError(reason)) {
            try await storage.write(Data(), for: keys[0], expiringAfter: .seconds(Int64.max), if: .version(.init(.max)))
        }
        await #expect(throws: SharedStorageError(reason)) {
            try await storage.add(.max, to: keys[0], expiringAfter: .seconds(Int64.min))
        }
    }

    @Test(arguments: 1...(Footprint.isSoak ? 30 : 1))
    func `Damaged answers of both engines are misses or errors`(seed: UInt64) async throws {
        let generator = SeededGenerator(seed: seed)
        func number(below limit: Int) -> Int { Int(generator.next() % UInt64(limit)) }
        let sound = Data(Self.answer().utf8)
        for _ in 0..<1_000 {
            var damaged = sound
            for _ in 0..<(1 + number(below: 4)) {
                let index = number(below: damaged.count)
                switch number(below: 3) {
                case 0: damaged[index] = UInt8(number(below: 256))
                case 1: damaged = Data(damaged[..<max(1, index)])
                default: damaged.insert(contentsOf: Data("\(Int64(bitPattern: generator.next()))".utf8), at: index)
                }
            }
            let reply = (0..<number(below: 4)).map { _ in
                number(below: 4) == 0 ? nil : Data((0..<number(below: 20)).map { _ in UInt8(number(below: 256)) })
            }
            let stub = StubConnection { [damaged] _ in Response(status: .ok, body: Body(damaged)) }
            for storage: any SharedStorage in [
                EtcdStorage(over: stub, valueLimit: 5), RedisStorage(valueLimit: 5) { _ in reply },
            ] {
                let found = try? await storage.values(for: keys)
                let isRight = found?.allSatisfy { keys.contains($0.key) && $0.value.content.count <= 5 }
                #expect(isRight ?? true, "seed \(seed)")
                _ = try? await storage.write(Data(), for: keys[0], expiringAfter: .seconds(1), if: .nothing)
                _ = try? await storage.add(.max, to: keys[0], expiringAfter: .seconds(1))
            }
        }
    }

    @Test func `An addition to a counter of etcd that ends meanwhile begins a new one`() async throws {
        let calls = Monitor(0)
        let stub = StubConnection { _ in
            switch calls.increment() {
            case 1: Response(status: .ok, body: Body(Self.counter))
            case 2: Response(status: .notFound, body: Body(#"{"code":5}"#))
            case 3: Response(status: .ok, body: Body(#"{"header":{},"responses":[{}]}"#))
            default: Response(status: .ok, body: Body(#"{"header":{},"ID":"5","succeeded":true}"#))
            }
        }
        #expect(try await EtcdStorage(over: stub).add(2, to: keys[0], expiringAfter: .seconds(1)) == 2)
        #expect(try await EtcdStorage(over: stub).values(for: []).isEmpty && calls.state == 5)
    }

    // A grant, a write that fails, and a read that shows whether the value has the lease 5 all the same.
    @Test(arguments: [("3", ["grant", "txn", "txn", "revoke"]), ("5", ["grant", "txn", "txn"])])
    func `A lease of etcd that no value got is ended`(lease: String, calls: [String]) async throws {
        let stub = StubConnection { request in
            let path = request.head.path ?? ""
            if path.hasSuffix("grant") { return Response(status: .ok, body: Body(#"{"header":{},"ID":"5"}"#)) }
            let isWrite = String(decoding: request.body.bytes ?? Data(), as: UTF8.self).contains("put")
            let read = Self.counter.replacing(#"lease":"3"#, with: #"lease":"\#(lease)"#)
            return Response(status: isWrite ? .serviceUnavailable : .ok, body: Body(read))
        }
        let storage = EtcdStorage(over: stub)
        await #expect(throws: SharedStorageError(.refused("status 503"))) {
            try await storage.write(Data(), for: keys[0], expiringAfter: .seconds(1), if: .anything)
        }
        try await yield { stub.requests.count == calls.count }
        #expect(stub.requests.map { $0.head.path?.split(separator: "/").last.map(String.init) } == calls)
    }

    private static let counter = """
        {"header":{},"responses":[{"response_range":{"kvs":[{"key":"a","value":"Nw==","mod_revision":"7","lease":"3"}]}}]}
        """
}

struct GuardedStorageTests {
    private let clock = VirtualClock()
    private let base = ProbingStorage(MemorySharedStorage())
    private let storage: GuardedStorage<any SharedStorage>
    private let key: SharedKey

    init() throws {
        key = try #require(SharedKey("a"))
        storage = GuardedStorage(base, clock: clock, generator: SeededGenerator(seed: 1))
        base.set(.hangs)
    }

    @Test func `A storage that hangs costs a call its deadline, and nothing once it is left alone`() async throws {
        for count in 1...5 {
            let call = Task { try await storage.value(of: key) }
            try await yield { base.calls == count && clock.pendingSleeps == [.milliseconds(50)] }
            clock.advance(by: .milliseconds(50))
            await #expect(throws: SharedStorageError(.tooSlow)) { try await call.value }
        }
        await #expect(throws: SharedStorageError(.leftAlone)) { try await storage.value(of: key) }
        #expect(base.calls == 5 && clock.pendingSleeps.isEmpty)

        base.set(nil)
        clock.advance(by: .seconds(1))
        #expect(try await storage.value(of: key) == nil)
        #expect(base.calls == 6)
    }

    @Test func `A content that is too large is no call`() async throws {
        await #expect(throws: SharedStorageError(.tooLarge)) {
            try await storage.write(Data(count: base.valueLimit + 1), for: key, expiringAfter: nil, if: .anything)
        }
        #expect(base.calls == 0)
    }

    @Test func `A cancelled caller leaves at once, and counts as no failure`() async throws {
        for count in 1...6 {
            let call = Task { try await storage.value(of: key) }
            try await yield { base.calls == count }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
    }
}
