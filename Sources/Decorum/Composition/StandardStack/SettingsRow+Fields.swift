import HTTPTypes

extension SettingsRow {
    /// An object with the names and values of fields; a list stands for several fields with one name.
    static func fields(_ key: String, _ path: any WritableKeyPath<Group, HTTPFields> & Sendable) -> Self {
        Self(key: key) { value, place, group, problems in
            guard let members = value.asMembers else {
                problems.append(
                    .init(place, "is \(value), but has to be an object with the names and values of fields"))
                return
            }
            var fields = HTTPFields()
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                do throws(FieldFault) {
                    for field in try value.fields(named: key) { fields.append(field) }
                } catch {
                    problems.append(.init("\(place).\(key)", error.reason))
                }
            }
            group[keyPath: path] = fields
        } write: { group in
            var members: [String: [String]] = [:]
            for field in group[keyPath: path] { members[field.name.rawName, default: []].append(field.value) }
            return .members(
                members.mapValues { $0.count == 1 ? .text($0[0]) : .list($0.map(SettingsValue.text)) })
        }
    }
}

private struct FieldFault: Error {
    let reason: String
}

extension SettingsValue {
    /// The fields of a name whose value this is.
    fileprivate func fields(named name: String) throws(FieldFault) -> [HTTPField] {
        guard !name.hasPrefix(":"), let name = HTTPField.Name(name) else {
            throw FieldFault(reason: "is not the name of a field, which has letters, digits and hyphens")
        }
        guard let values = asText.map({ [$0] }) ?? SettingsForm<[String]>.list(of: .text).read(self) else {
            throw FieldFault(reason: "is \(self), but has to be a text, or a list of texts")
        }
        // HTTPField replaces characters that a field cannot have, so that a mistake would be sent.
        guard values.allSatisfy(HTTPField.isValidValue) else {
            throw FieldFault(
                reason: "has a line break or another character that no field can have, or a blank at an end")
        }
        return values.map { HTTPField(name: name, value: $0) }
    }
}
