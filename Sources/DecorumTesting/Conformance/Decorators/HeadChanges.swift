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

extension HTTPField.Name {
    /// The fields of requests that carry credentials by definition (RFC 9110, section 11; RFC 6265, section 4.2).
    static let credentials: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
}
