import HTTPTypes

extension HTTPFields {
    /// Replaces all fields of each given name.
    mutating func override(with fields: HTTPFields) {
        // A single new field, such as a token, needs no search for other fields of its name.
        if fields.count == 1, let field = fields.first, !contains(field.name) {
            append(field)
            return
        }
        for (index, field) in fields.enumerated() where !fields[..<index].contains(where: { $0.name == field.name }) {
            let isAlone = !fields[(index + 1)...].contains { $0.name == field.name }
            if isAlone, !contains(field.name) {
                append(field)
            } else {
                self[fields: field.name] = fields[fields: field.name]
            }
        }
    }

    /// Adds each field whose name was absent before.
    mutating func add(defaults: HTTPFields) {
        let ownCount = count
        for field in defaults {
            // Most names are absent. A name that this call added may still be given a second time.
            let isNew = !contains(field.name) || !self[..<ownCount].contains { $0.name == field.name }
            if isNew { append(field) }
        }
    }
}
