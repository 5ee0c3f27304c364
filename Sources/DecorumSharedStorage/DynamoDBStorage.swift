public import Decorum
public import Foundation
import HTTPTypes

/// A storage in a table of Amazon DynamoDB, over a connection that signs.
///
/// <doc:more-than-one-machine> describes the table. A value is absent by the date of the clock once it has expired, so the
/// clocks of all machines have to agree within a part of the shortest lifetime. A removed or expired item stays for a day
/// at least, and its version is counted on; without an item, versions begin with the time in microseconds. A table that
/// several regions share needs strong consistency. The connection repeats no `POST`, since a write or an addition whose
/// answer was lost has happened.
public struct DynamoDBStorage: SharedStorage {
    /// The largest content of a value: 350 KiB, since an item has at most 400.
    public let valueLimit = 350 << 10
    private let table: String
    private let request: Request
    private let connection: any Connection
    private let clock: any DatedClock
    // The service sends at most 16 MiB of items, a third larger in Base64.
    private static let (answerLimit, attempts) = (24 << 20, 4)
    private static let conditionFailed = SharedStorageError(.refused("ConditionalCheckFailedException"))

    /// Creates a storage at the URL of the service in the region of a table; one that no request can be sent to is an error.
    public init(
        table: String, at endpoint: String, over connection: some Connection, clock: any DatedClock = SystemClock()
    ) throws(InvalidRequestError) {
        (self.table, self.connection, self.clock) = (table, connection, clock)
        request = try .post(endpoint)
    }

    /// Reads the values of some keys together, and asks again for what the service leaves out.
    public func values(for keys: [SharedKey]) async throws -> [SharedKey: SharedValue] {
        var (missing, found) = (Set(keys), [SharedKey: SharedValue]())
        for _ in 0..<Self.attempts where !missing.isEmpty {
            let asked: [String: Any] = ["Keys": missing.map { Self.id($0.description) }, "ConsistentRead": true]
            let answer = try await answer(to: "BatchGetItem", ["RequestItems": [table: asked]])
            guard let tables = answer["Responses"] as? [String: Any] else { throw SharedStorageError(.unknownAnswer) }
            let now = microseconds
            for item in tables[table] as? [Any] ?? [] {
                guard let key = Self.key(of: item), missing.contains(key) else { continue }
                found[key] = value(of: item, at: now)
            }
            let rest = (answer["UnprocessedKeys"] as? [String: Any])?[table] as? [String: Any]
            missing.formIntersection((rest?["Keys"] as? [Any] ?? []).compactMap(Self.key(of:)))
        }
        guard missing.isEmpty else { throw SharedStorageError(.refused("UnprocessedKeys")) }
        return found
    }

    /// Writes a value, if a condition holds.
    public func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        guard content.count <= valueLimit else { throw SharedStorageError(.tooLarge) }
        let times =
            lifetime == nil ? " REMOVE expiry, expirySeconds" : ", expiry = :expiry, expirySeconds = :expirySeconds"
        let values = values(lifetime ?? .zero, ["content": ["B": content.base64EncodedString()]])
        return try await change(key, condition, "content = :content" + times, values)
    }

    /// Removes a value, if a condition holds; the item stays without content, so that versions grow.
    public func remove(_ key: SharedKey, if condition: SharedCondition) async throws -> Bool {
        let step = "expiry = :zero, expirySeconds = :expirySeconds REMOVE content"
        return try await change(key, condition, step, values(.zero)) != nil
    }

    /// Adds to a counter, in one call; in two, if it has expired and is still there.
    public func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async throws -> Int64 {
        let kept = ["expiry", "expirySeconds"].map { "\($0) = if_not_exists(\($0), :\($0))" }.joined(separator: ", ")
        let steps = [
            ("SET \(kept) ADD amount :amount", "attribute_not_exists(expiry) OR expiry > :now"),
            ("SET expiry = :expiry, expirySeconds = :expirySeconds, amount = :amount", "expiry <= :now"),
        ]
        for (step, condition) in steps + steps {
            // No key has this character, so no counter is a value.
            let sum: Int64? = try await update(
                "#\(key)", step, if: condition, values(lifetime, ["amount": ["N": "\(amount)"]]), reading: "amount")
            if let sum { return sum }
        }
        throw Self.conditionFailed
    }

    private func change(
        _ key: SharedKey, _ condition: SharedCondition, _ step: String, _ values: [String: [String: String]]
    ) async throws -> SharedVersion? {
        var values = values
        let expected: String?
        switch condition {
        case .anything: expected = nil
        case .nothing: expected = "attribute_not_exists(id) OR expiry <= :now"
        case .version(let version):
            expected = "version = :old AND (attribute_not_exists(expiry) OR expiry > :now)"
            values["old"] = ["N": "\(version.number)"]
        }
        let step = "SET version = if_not_exists(version, :now) + :one, " + step
        let number: UInt64? = try await update(key.description, step, if: expected, values, reading: "version")
        return number.map { SharedVersion($0) }
    }

    /// Changes an item, and returns a number of it; nil if the condition does not hold.
    private func update<Number: FixedWidthInteger>(
        _ id: String, _ step: String, if condition: String?, _ values: [String: [String: String]], reading name: String
    ) async throws -> Number? {
        // The service refuses values that no expression names.
        let named = Set("\(step) \(condition ?? "")".split { !$0.isLetter && $0 != ":" }.map(String.init))
        var members: [String: Any] = [
            "TableName": table, "Key": Self.id(id), "UpdateExpression": step, "ReturnValues": "ALL_NEW",
        ]
        members["ConditionExpression"] = condition
        let pairs = values.map { (":" + $0.key, $0.value) }.filter { named.contains($0.0) }
        members["ExpressionAttributeValues"] = Dictionary(uniqueKeysWithValues: pairs)
        do {
            let attributes = try await answer(to: "UpdateItem", members)["Attributes"] as? [String: [String: Any]]
            guard let number = (attributes?[name]?["N"] as? String).flatMap({ Number($0) }) else {
                throw SharedStorageError(.unknownAnswer)
            }
            return number
        } catch let error as SharedStorageError where error == Self.conditionFailed {
            return nil
        }
    }

    private func answer(to operation: String, _ members: [String: Any]) async throws -> [String: Any] {
        var request = request
        let type = "application/x-amz-json-1.0"
        if let target = HTTPField.Name("X-Amz-Target") {
            request.head.headerFields[target] = "DynamoDB_20120810.\(operation)"
        }
        request.body = Body(try JSONSerialization.data(withJSONObject: members)).typed(as: type)
        let response = try await connection.send(request)
        let data = try await response.body.data(upTo: Self.answerLimit)
        let answer = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
        guard response.status == .ok else {
            let name = (answer?["__type"] as? String)?.split(separator: "#").last?.prefix { $0.isASCII && $0.isLetter }
            throw SharedStorageError(.refused(name.map { String($0.prefix(64)) } ?? "status \(response.status.code)"))
        }
        // The answer of another server, such as a page that asks for a sign-in, has another type.
        guard let answer, response.head.headerFields[.contentType]?.hasPrefix(type) ?? false else {
            throw SharedStorageError(.unknownAnswer)
        }
        return answer
    }

    /// The value of an item; nil after its time, and for a damaged, a removed and a foreign one.
    private func value(of item: Any, at now: Int64) -> SharedValue? {
        guard let item = item as? [String: [String: Any]],
            let version = (item["version"]?["N"] as? String).flatMap({ UInt64($0) }),
            let content = (item["content"]?["B"] as? String).flatMap({ Data(base64Encoded: $0) }),
            // Without a time, a value stays; with a damaged one, it is damaged.
            item["expiry"].map({ ($0["N"] as? String).flatMap { Int64($0) } ?? 0 > now }) ?? true,
            content.count <= valueLimit
        else { return nil }
        return SharedValue(content, version: SharedVersion(version))
    }

    private static func key(of item: Any) -> SharedKey? {
        (((item as? [String: Any])?["id"] as? [String: Any])?["S"] as? String).flatMap { SharedKey($0) }
    }

    private static func id(_ id: String) -> [String: [String: String]] { ["id": ["S": id]] }
    private var microseconds: Int64 { Int64(max(0, min(clock.date.timeIntervalSince1970, 1e12)) * 1e6) }

    /// The values that expressions may name.
    private func values(
        _ lifetime: Duration, _ others: [String: [String: String]] = [:]
    ) -> [String: [String: String]] {
        let now = microseconds
        let end = max(0, now + Int64(lifetime.bounded / .microseconds(1)))
        let numbers = ["zero": 0, "one": 1, "now": now, "expiry": end, "expirySeconds": end / 1_000_000 + 86_400]
        return numbers.mapValues { ["N": "\($0)"] }.merging(others) { $1 }
    }
}
