import HTTPTypes

/// The parts of the request that was asked for, without the parts that would be copied when layers further in change
/// the request.
struct AskedRequest: Sendable {
    struct Target: Sendable {
        let method: HTTPRequest.Method
        private let scheme: String?
        private let authority: String?
        private let path: String?

        init(_ head: HTTPRequest) {
            method = head.method
            scheme = head.scheme
            authority = head.authority
            path = head.path
        }

        func hasTarget(of other: HTTPRequest) -> Bool {
            if path == other.path, authority == other.authority, scheme == other.scheme { return true }
            guard (path ?? "/") == (other.path ?? "/") else { return false }
            let own = HTTPRequest(method: method, scheme: scheme, authority: authority, path: path)
            // An authority with a user name is not an origin, so it counts as another target.
            guard let origin = try? Origin(own) else { return false }
            return origin == (try? Origin(other))
        }
    }

    private let target: Target
    private let fields: HTTPFields
    private let content: Body
    private let isNeutral: @Sendable (HTTPField, Set<HTTPField.Name>) -> Bool

    var method: HTTPRequest.Method { target.method }

    init(_ request: borrowing Request, isNeutral: @escaping @Sendable (HTTPField, Set<HTTPField.Name>) -> Bool) {
        self.isNeutral = isNeutral
        target = Target(request.head)
        fields = request.head.headerFields
        content = request.body
    }

    func hasTarget(of other: HTTPRequest) -> Bool { target.hasTarget(of: other) }

    /// Returns a difference that no reported redirection can explain.
    func fixedDifference(of sent: borrowing Request) -> SentRequests.Difference? {
        if sent.options.principal != nil { return .principal }
        // Dropped content, as after a 303, tells the server nothing.
        if !sent.body.isEmpty, sent.body != content { return .content }
        return difference(of: sent.head.headerFields, secretFields: sent.options.secretFields)
    }

    private func difference(
        of sent: HTTPFields, secretFields: Set<HTTPField.Name>
    ) -> SentRequests.Difference? {
        var next = 0
        for index in sent.indices {
            let field = sent[index]
            // In most requests, all fields are as in the request that was asked for, in the same order.
            if next < fields.count, fields[next] == field {
                next += 1
                continue
            }
            guard isNeutral(field, secretFields) || values(of: field.name) == sent[values: field.name] else {
                return .field(field.name)
            }
        }
        return nil
    }

    private func values(of name: HTTPField.Name) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }
}
