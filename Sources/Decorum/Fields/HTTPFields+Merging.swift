import HTTPTypes

extension HTTPFields {
    /// Replaces all fields of each given name.
    mutating func override(with fields: HTTPFields) {
        // A single new field, such as a token, needs no search for other fields of its name.
        if fields.count == 1, let field = fields.first, !has(field.name) {
            add(field)
            return
        }
        for (index, field) in fields.enumerated() where !fields[..<index].contains(where: { $0.name == field.name }) {
            let isAlone = !fields[(index + 1)...].contains { $0.name == field.name }
            if isAlone, !has(field.name) {
                add(field)
            } else {
                self[fields: field.name] = fields[fields: field.name]
            }
        }
    }

    /// Adds each field whose name was absent before.
    mutating func add(defaults: HTTPFields) {
        let ownCount = count
        for index in defaults.indices {
            let field = defaults[index]
            // Most names are absent. A name that this call added may still be given a second time.
            let isNew = !has(field.name) || !self[..<ownCount].contains { $0.name == field.name }
            if isNew { add(field) }
        }
    }

    /// Adds a field at the end, with room for those of the layers further in: without it, the next of them would copy all
    /// fields to make room for its own.
    mutating func add(_ field: HTTPField) {
        // A long list has its room in proportion to its length, which only `append` gives.
        if count < 32 { reserveCapacity((count + 8) & ~7) }
        append(field)
    }
}
