public import Decorum
public import Foundation

/// A storage on etcd 3.4 or later, over its JSON gateway, to which the connection authenticates.
///
/// A read or a change is one transaction. A lifetime is a lease of whole seconds, which ends up to three seconds late.
/// A version is a revision of the whole engine. An addition compares and replaces the counter, up to a hundred times.
public struct EtcdStorage: SharedStorage {
    /// The largest content of a value, in bytes; etcd takes requests of 1.5 MiB unless it is told otherwise.
    public let valueLimit: Int
    private let base: AnyConnection
    private let endpoint, prefix: String

    /// Creates a storage whose keys begin with a prefix, at the URL of a gateway without a path.
    public init(
        at endpoint: String = "http://127.0.0.1:2379", over connection: some Connection, prefix: String = "decorum/",
        valueLimit: Int = 1 << 20
    ) {
        (base, self.endpoint, self.prefix, self.valueLimit) = (AnyConnection(connection), endpoint, prefix, valueLimit)
    }

    /// Reads the values of some keys together.
    public func values(for keys: [SharedKey]) async throws -> [SharedKey: SharedValue] {
        guard !keys.isEmpty else { return [:] }
        let ranges = keys.map { #"{"request_range":{"key":"\#(name("v:\($0)"))"}}"# }
        let answer = try await commit(ranges.joined(separator: ","), upTo: keys.count)
        guard answer.responses?.count ?? 0 == keys.count else { throw Self.unknown }
        return keys.enumerated().reduce(into: [:]) { found, key in
            guard let entry = answer.entry(at: key.offset), entry.key == name("v:\(key.element)") else { return }
            guard entry.value?.count ?? 0 <= valueLimit, let revision = UInt64(entry.modRevision) else { return }
            found[key.element] = SharedValue(entry.value ?? Data(), version: SharedVersion(revision))
        }
    }

    /// Writes a value, if a condition holds.
    public func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        guard content.count <= valueLimit else { throw SharedStorageError(.tooLarge) }
        let answer = try await put(content, name("v:\(key)"), for: lifetime, if: condition)
        guard answer.succeeded == true else { return nil }
        guard let revision = UInt64(answer.header["revision"] ?? "") else { throw Self.unknown }
        return SharedVersion(revision)
    }

    /// Removes a value, if a condition holds.
    public func remove(_ key: SharedKey, if condition: SharedCondition) async throws -> Bool {
        let name = name("v:\(key)")
        return try await change(name, condition, #"{"request_delete_range":{"key":"\#(name)"}}"#).succeeded == true
    }

    /// Adds to a counter.
    public func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async throws -> Int64 {
        let name = name("c:\(key)")
        for _ in 0..<100 {
            let present = try await present(name)
            let sum = amount &+ (present?.value.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0)
            let (lease, revision) = (present?.leaseNumber, present.flatMap { UInt64($0.modRevision) })
            let condition = revision.map { SharedCondition.version(SharedVersion($0)) } ?? .nothing
            let (text, time) = (Data("\(sum)".utf8), lease == nil ? lifetime : nil)
            do {
                if try await put(text, name, for: time, lease: lease, if: condition).succeeded == true { return sum }
            } catch let error as SharedStorageError where error.reason == .refused("status 404") && lease != nil {
                // The counter has ended with its lease since it was read.
            }
        }
        throw SharedStorageError(.tooSlow)
    }

    private static let unknown = SharedStorageError(.unknownAnswer)
    private func name(_ key: String) -> String { Data((prefix + key).utf8).base64EncodedString() }

    /// Puts a value in a transaction, with a lease for its lifetime, which ends again if the value did not get it.
    private func put(
        _ content: Data, _ name: String, for lifetime: Duration?, lease: Int64? = nil, if condition: SharedCondition
    ) async throws -> EtcdAnswer {
        let granted = if let lifetime { try await grant(lifetime) } else { nil as Int64? }
        let (text, number) = (content.base64EncodedString(), granted ?? lease ?? 0)
        let step = #"{"request_put":{"key":"\#(name)","value":"\#(text)","lease":"\#(number)"}}"#
        var succeeded: Bool?
        defer {
            // Not in the task of the caller, who may have left. If the answer alone was lost, the value has the lease.
            if let granted, succeeded != true {
                Task { if try await present(name)?.leaseNumber != granted { await revoke(granted) } }
            }
        }
        let answer = try await change(name, condition, step)
        succeeded = answer.succeeded
        return answer
    }

    private func present(_ name: String) async throws -> EtcdAnswer.Entry? {
        try await commit(#"{"request_range":{"key":"\#(name)"}}"#).entry(at: 0)
    }

    /// Performs an operation if a condition holds, and ends the lease of the value that was there.
    private func change(_ name: String, _ condition: SharedCondition, _ step: String) async throws -> EtcdAnswer {
        let revision: Int64? =
            switch condition {
            case .anything: nil
            case .nothing: 0
            // 0 is the revision of an absent value; no value has -1.
            case .version(let version): version.number == 0 ? -1 : Int64(clamping: version.number)
            }
        let expected = revision.map { #"{"key":"\#(name)","target":"MOD","mod_revision":"\#($0)"}"# } ?? ""
        let old = #"{"request_range":{"key":"\#(name)","keys_only":true}}"#
        let answer = try await commit("\(old),\(step)", if: expected)
        // A transport that sends the transaction twice finds its own lease.
        if answer.succeeded == true, let lease = answer.entry(at: 0)?.leaseNumber, !step.contains(#":"\#(lease)""#) {
            await revoke(lease)
        }
        return answer
    }

    private func commit(_ success: String, if condition: String = "", upTo count: Int = 1) async throws -> EtcdAnswer {
        let limit = (64 << 10) + count * (min(valueLimit, 1 << 30) * 2 + 1_000)
        return try await answer("kv/txn", #"{"compare":[\#(condition)],"success":[\#(success)]}"#, upTo: limit)
    }

    private func grant(_ lifetime: Duration) async throws -> Int64 {
        let seconds = max(1, Int64((lifetime.bounded / .seconds(1)).rounded(.up)))
        let lease = try await answer("lease/grant", #"{"TTL":"\#(seconds)"}"#).lease.flatMap { Int64($0) }
        guard let lease else { throw Self.unknown }
        return lease
    }

    /// Ends a lease that no value has, and which otherwise lasts until its time is over.
    private func revoke(_ lease: Int64) async { _ = try? await answer("lease/revoke", #"{"ID":"\#(lease)"}"#) }

    private func answer(_ path: String, _ content: String, upTo limit: Int = 64 << 10) async throws -> EtcdAnswer {
        let request = try Request.post("\(endpoint)/v3/\(path)", body: Body(content).typed(as: "application/json"))
        let response = try await base.send(request)
        guard response.status == .ok else { throw SharedStorageError(.refused("status \(response.status.code)")) }
        let data = try await response.data(upTo: limit)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let answer = try? decoder.decode(EtcdAnswer.self, from: data) else { throw Self.unknown }
        return answer
    }
}

/// An answer of the gateway, which lacks what is empty, zero or false; numbers of 64 bits are texts.
private struct EtcdAnswer: Decodable {
    struct Operation: Decodable { let responseRange: Range? }
    struct Range: Decodable { let kvs: [Entry]? }
    struct Entry: Decodable {
        let key, modRevision: String
        let value: Data?
        let lease: String?
        var leaseNumber: Int64? { lease.flatMap { Int64($0) }.flatMap { $0 == 0 ? nil : $0 } }
    }
    enum CodingKeys: String, CodingKey {
        case header, succeeded, responses
        case lease = "ID"
    }
    let header: [String: String]
    let succeeded: Bool?
    let responses: [Operation]?
    let lease: String?
    func entry(at index: Int) -> Entry? { responses?.dropFirst(index).first?.responseRange?.kvs?.first }
}
