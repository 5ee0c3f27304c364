import HTTPTypes

extension HTTPFields {
    /// Replaces all fields of each name that is given.
    mutating func override(with fields: HTTPFields) {
        // One field that was not there, as a token is, needs no search for others of its name.
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

    /// Adds each field whose name was not there before.
    mutating func add(defaults: HTTPFields) {
        let ownCount = count
        for field in defaults {
            // Most are not there at all; one that was added right here may be given twice.
            let isNew = !contains(field.name) || !self[..<ownCount].contains { $0.name == field.name }
            if isNew { append(field) }
        }
    }
}
