/// One key of a group of settings: how its value is read and written.
struct SettingsRow<Group>: Sendable {
    let key: String
    /// Reads the value at a path into the group, or adds a problem.
    let read: @Sendable (SettingsValue, String, inout Group, inout [StackSettingsError.Problem]) -> Void
    let write: @Sendable (Group) -> SettingsValue

    /// A value that is always there.
    static func value<Value>(
        _ key: String, _ path: any WritableKeyPath<Group, Value> & Sendable, _ form: SettingsForm<Value>
    ) -> Self {
        Self(key: key) { value, name, group, problems in
            if let read = form.read(value) {
                group[keyPath: path] = read
            } else {
                problems.append(.init(name, "is \(value), but has to be \(form.expected)"))
            }
        } write: { group in
            form.write(group[keyPath: path])
        }
    }

    /// A value that may be left out, for which `false` stands.
    static func optional<Value>(
        _ key: String, _ path: any WritableKeyPath<Group, Value?> & Sendable, _ form: SettingsForm<Value>
    ) -> Self {
        Self(key: key) { value, name, group, problems in
            if value == .flag(false) {
                group[keyPath: path] = nil
            } else if let read = form.read(value) {
                group[keyPath: path] = read
            } else {
                problems.append(.init(name, "is \(value), but has to be \(form.expected), or false to leave it out"))
            }
        } write: { group in
            group[keyPath: path].map(form.write) ?? .flag(false)
        }
    }

    /// A group of its own that may be left out: `false` leaves it out, and `true` takes the values that it has, or else
    /// its defaults.
    static func part<Value: Sendable>(
        _ key: String, _ path: any WritableKeyPath<Group, Value?> & Sendable, defaults: Value,
        _ rows: [SettingsRow<Value>]
    ) -> Self {
        Self(key: key) { value, name, group, problems in
            var part = group[keyPath: path] ?? defaults
            switch value {
            case .flag(false):
                group[keyPath: path] = nil
                return
            case .flag(true):
                break
            case .members(let members):
                rows.read(members, at: name, into: &part, &problems)
            default:
                let first = rows.first.map { SettingsValue.members([$0.key: $0.write(defaults)]).example } ?? "{}"
                problems.append(
                    .init(
                        name, "is \(value), but has to be true, false, or an object with settings, such as \(first)"))
            }
            group[keyPath: path] = part
        } write: { group in
            group[keyPath: path].map { .members(rows.written($0)) } ?? .flag(false)
        }
    }
}

extension Array {
    /// Reads the members of an object, and names those that are unknown.
    func read<Group>(
        _ members: [String: SettingsValue], at path: String, into group: inout Group,
        _ problems: inout [StackSettingsError.Problem]
    ) where Element == SettingsRow<Group> {
        let prefix = path.isEmpty ? "" : path + "."
        for row in self {
            guard let value = members[row.key] else { continue }
            row.read(value, prefix + row.key, &group, &problems)
        }
        for key in members.keys.sorted() where !contains(where: { $0.key == key }) {
            let known = map(\.key).sorted()
            let advice = known.nearest(to: key).map { "; did you mean `\($0)`? The" } ?? "; the"
            problems.append(
                .init(prefix + key, "is no setting\(advice) settings here are \(known.joined(separator: ", "))"))
        }
    }

    /// The members of the object that stands for a group.
    func written<Group>(_ group: Group) -> [String: SettingsValue] where Element == SettingsRow<Group> {
        Dictionary(map { ($0.key, $0.write(group)) }) { first, _ in first }
    }
}
