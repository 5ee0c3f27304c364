/// Values of any type, one for each key type; the storage of request options and response metadata.
struct TypedValues: Sendable {
    // A request carries a handful: a scan is faster than a dictionary, and an empty array allocates nothing.
    private var entries: [(key: ObjectIdentifier, value: any Sendable)] = []

    func value<Value: Sendable>(for key: Any.Type, as type: Value.Type) -> Value? {
        let identifier = ObjectIdentifier(key)
        guard let entry = entries.first(where: { $0.key == identifier }) else { return nil }
        return entry.value as? Value
    }

    mutating func set<Value: Sendable>(_ value: Value, for key: Any.Type) {
        let identifier = ObjectIdentifier(key)
        if let index = entries.firstIndex(where: { $0.key == identifier }) {
            entries[index].value = value
        } else {
            entries.append((identifier, value))
        }
    }
}
