import Decorum
import DecorumSharedStorage
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// A storage in memory that counts its calls, shows what it has, and does as badly as a test asks.
final class ProbingStorage: SharedStorage {
    enum Fault: Sendable { case fails, isFull, hangs, hangsAtChanges, hangsAtBodies }
    enum Call { case record, body, change }
    struct Failure: Error {}

    private let base: MemorySharedStorage
    private let state = Mutex((calls: 0, fault: Fault?.none, keys: Set<SharedKey>(), gate: Gate?.none))

    init(_ base: MemorySharedStorage) { self.base = base }

    var valueLimit: Int { base.valueLimit }
    var calls: Int { state.withLock { $0.calls } }
    var contents: [SharedKey: Data] {
        get async { await base.values(for: state.withLock { Array($0.keys) }).mapValues(\.content) }
    }

    /// The number of calls since the last question.
    func takeCalls() -> Int {
        state.withLock { state in
            defer { state.calls = 0 }
            return state.calls
        }
    }

    func keys(_ part: String) async -> Set<SharedKey> {
        Set(await contents.keys.filter { $0.description.contains(part) })
    }

    /// Replaces a value, whatever the fault.
    func replace(_ key: SharedKey, by content: Data?) async throws {
        guard let content else {
            _ = await base.remove(key, if: .anything)
            return
        }
        _ = try await base.write(content, for: key, expiringAfter: nil, if: .anything)
    }

    func set(_ fault: Fault?) { state.withLock { $0.fault = fault } }

    /// Has the next reading wait, once it knows its values.
    func delayReading(by gate: Gate) { state.withLock { $0.gate = gate } }

    private func begin(_ call: Call = .change, _ keys: [SharedKey] = []) async throws {
        let fault = state.withLock { state in
            state.calls += 1
            state.keys.formUnion(keys)
            return state.fault
        }
        switch (fault, call) {
        case (.hangs, _), (.hangsAtChanges, .change), (.hangsAtBodies, .body):
            // A call that was sent goes on, whoever is cancelled.
            await Task { try? await Gate().wait() }.value
        case (.fails, _): throw Failure()
        case (.isFull, .change): throw SharedStorageError(.refused("OOM"))
        default: break
        }
    }

    func values(for keys: [SharedKey]) async throws -> [SharedKey: SharedValue] {
        try await begin(keys.count == 4 ? .record : .body)
        let values = await base.values(for: keys)
        try await state.withLock { $0.gate.take() }?.wait()
        return values
    }

    func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        try await begin(.change, [key])
        return try await base.write(content, for: key, expiringAfter: lifetime, if: condition)
    }

    func remove(_ key: SharedKey, if condition: SharedCondition) async throws -> Bool {
        try await begin()
        return await base.remove(key, if: condition)
    }

    func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async throws -> Int64 {
        try await begin()
        return await base.add(amount, to: key, expiringAfter: lifetime)
    }

    func hints() -> AsyncStream<SharedHint>? { base.hints() }
}

/// Object storage in memory.
final class MemoryBodies: SharedBodyStorage {
    let bodyLimit = 4 << 20
    private let contents = Mutex<[SharedKey: Data]>([:])
    private let delay = Mutex<@Sendable () -> Void>({})
    var names: [SharedKey] { contents.withLock { Array($0.keys) } }

    func write(_ content: Data, named name: SharedKey) { set(content, name) }
    func content(named name: SharedKey) -> Data? {
        delay.withLock(\.self)()
        return contents.withLock { $0[name] }
    }
    func removeContent(named name: SharedKey) { set(nil, name) }
    /// Has something done before each reading.
    func delayReading(by work: @escaping @Sendable () -> Void) { delay.withLock { $0 = work } }
    func set(_ content: Data?, _ name: SharedKey) { contents.withLock { $0[name] = content } }
}

/// Responses whose content follows from a version and a length.
enum Sample {
    static func key(_ number: Int = 1, of principal: String? = nil) throws -> ResponseKey {
        var request = try Request.get("https://example.com/\(number)")
        request.options.principal = principal.map { Principal($0) }
        guard let key = ResponseKey(request) else { throw CancellationError() }
        return key
    }

    static func content(_ version: Int, _ length: Int) -> Data {
        Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ version) })
    }

    static func response(
        _ version: Int = 1, length: Int = 100, fields: HTTPFields = [:], type: String? = nil
    ) -> StoredResponse {
        var head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60", .server: "\(version)"])
        head.headerFields.append(contentsOf: fields)
        var request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/1")
        if let type { (head.headerFields[.vary], request.headerFields[.accept]) = ("Accept", type) }
        return StoredResponse(
            head: head, body: Body(content(version, length)), request: request, date: Date(timeIntervalSince1970: 1e9))
    }
}

extension SharedResponseStore {
    /// The versions that a lookup finds, each with the right body; -1 for a wrong one.
    func versions(_ key: ResponseKey) async -> [Int] {
        await responses(for: key).map { response in
            let version = response.head.headerFields[.server].flatMap { Int($0) } ?? -1
            let content = response.body.bytes ?? Data()
            return content == Sample.content(version, content.count) ? version : -1
        }
    }

    /// Looks up a key, and stores a response to a request that is sent then.
    @discardableResult func fill(_ key: ResponseKey, _ response: StoredResponse = Sample.response()) async -> Bool {
        _ = await responses(for: key)
        return await store(response, for: key, with: ticket(for: key))
    }
}
