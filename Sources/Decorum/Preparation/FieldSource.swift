import HTTPTypes

/// Fields that are the same for every request, or that a closure makes of it.
enum FieldSource: Sendable {
    case fixed(HTTPFields)
    case computed(@Sendable (_ request: Request) async throws -> HTTPFields)

    func fields(for request: Request) async throws -> HTTPFields {
        switch self {
        case .fixed(let fields): fields
        case .computed(let compute): try await compute(request)
        }
    }

    /// The names of the fields, without their values, which may be nobody's business.
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
