import HTTPTypes

/// Fields that are the same for every request, or that a closure computes from the request.
enum FieldSource: Sendable {
    case fixed(HTTPFields)
    /// The names of the fields that hold credentials are nil where they are not known.
    case computed(@Sendable (_ request: Request) async throws -> HTTPFields, secretFields: Set<HTTPField.Name>?)

    /// The fields that hold credentials.
    var secretFields: Set<HTTPField.Name> {
        switch self {
        case .fixed(let fields):
            return Set(fields.filter { Redaction.standard.isSecret($0, secretFields: []) }.map(\.name))
        case .computed(_, let secretFields):
            return secretFields ?? []
        }
    }

    /// The facts of a layer that sets the fields.
    var facts: Set<Layer.Fact> {
        var facts: Set<Layer.Fact> = [.changesSignedParts]
        if !secretFields.isEmpty { facts.insert(.addsCredentials) }
        if case .computed(_, let declared) = self {
            facts.insert(.variesPerSend)
            if declared == nil { facts.insert(.mayAddCredentials) }
            if !secretFields.isEmpty { facts.insert(.changesUsers) }
        }
        return facts
    }

    /// The names of the fields, without their values, which may be private.
    var setting: Layer.Setting {
        switch self {
        case .fixed(let fields): Layer.Setting("fields", fields.map(\.name.rawName).joined(separator: ", "))
        case .computed: Layer.Setting("fields", "computed")
        }
    }
}

extension FieldSource: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: [setting.name: setting.value]) }
}
