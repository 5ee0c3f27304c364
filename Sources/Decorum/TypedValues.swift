/// Values of any type, one for each key type; the storage of request options and response metadata.
@usableFromInline struct TypedValues: Sendable {
    // A request has only a few values, so a scan is faster than a dictionary, and an empty array allocates nothing.
    @usableFromInline var entries: [Entry] = []

    @usableFromInline struct Entry: Sendable {
        @usableFromInline let key: Any.Type
        @usableFromInline let travel: OptionTravel
        @usableFromInline var value: any Sendable

        @usableFromInline init(key: Any.Type, travel: OptionTravel, value: any Sendable) {
            self.key = key
            self.travel = travel
            self.value = value
        }
    }

    var isEmpty: Bool { entries.isEmpty }

    // Inlinable, since a module that reads an option of its own would otherwise look up its type each time.
    @inlinable func value<Value: Sendable>(for key: Any.Type, as type: Value.Type) -> Value? {
        guard let index = index(of: key) else { return nil }
        return entries[index].value as? Value
    }

    @inlinable mutating func set<Value: Sendable>(
        _ value: Value, for key: Any.Type, travelling travel: OptionTravel = .all
    ) {
        if let index = index(of: key) {
            entries[index].value = value
        } else {
            // A request with one value mostly has several.
            if entries.isEmpty { entries.reserveCapacity(4) }
            entries.append(Entry(key: key, travel: travel, value: value))
        }
    }

    /// Leaves out the values that do not travel to all kinds of a set of requests.
    mutating func travel(_ travel: OptionTravel) {
        guard entries.contains(where: { !$0.travel.isSuperset(of: travel) }) else { return }
        entries.removeAll { !$0.travel.isSuperset(of: travel) }
    }

    /// Leaves out the values that do not travel to a request that is sent for several callers; a value that all of them
    /// share stays.
    mutating func travelToSharedRequest() {
        let kept: OptionTravel = [.sharedRequests, .comparedWhenShared]
        guard entries.contains(where: { $0.travel.isDisjoint(with: kept) }) else { return }
        entries.removeAll { $0.travel.isDisjoint(with: kept) }
    }

    /// Whether the values whose keys travel in a way are equal in both.
    func areSame(as other: TypedValues, travelling travel: OptionTravel) -> Bool {
        (entries + other.entries).allSatisfy { entry in
            guard entry.travel.isSuperset(of: travel) else { return true }
            return (entry.key as? any RequestOptionKey.Type)?.isSame(in: self, and: other) ?? false
        }
    }

    /// The names of the types of the keys that have a value, in the order in which they were set.
    var keyNames: [String] { entries.map { String(describing: $0.key) } }

    // A loop, because `firstIndex(where:)` copies each entry that it passes to its closure.
    @usableFromInline func index(of key: Any.Type) -> Int? {
        for index in entries.indices where entries[index].key == key { return index }
        return nil
    }
}

extension RequestOptionKey {
    fileprivate static func isSame(in one: TypedValues, and other: TypedValues) -> Bool {
        let values = [one, other].map { $0.value(for: self, as: Value.self) ?? defaultValue }
        return (Value.self as? any Equatable.Type)?.areEqual(values[0], values[1]) ?? false
    }
}

extension Equatable {
    fileprivate static func areEqual(_ one: Any, _ other: Any) -> Bool { one as? Self == other as? Self }
}
