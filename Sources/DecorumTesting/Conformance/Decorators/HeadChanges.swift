import HTTPTypes

/// The differences between two heads.
struct HeadChanges {
    let hasTarget: Bool
    let fields: Set<HTTPField.Name>
}

extension HTTPRequest {
    func changes(from original: HTTPRequest) -> HeadChanges {
        var head = self
        head.headerFields = original.headerFields
        let names = Set((headerFields + original.headerFields).map(\.name))
        let changed = names.filter { headerFields[values: $0] != original.headerFields[values: $0] }
        return HeadChanges(hasTarget: head != original, fields: changed)
    }
}
