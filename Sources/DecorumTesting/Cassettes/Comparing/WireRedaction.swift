import Decorum
import HTTPTypes

/// The head of a request as it was sent, with its secrets and their declarations.
struct SentHead: Sendable {
    let head: HTTPRequest
    let secretFields: Set<HTTPField.Name>
    let secretQueryItems: Set<String>

    init(_ request: borrowing Request) {
        head = request.head
        secretFields = request.options.secretFields
        secretQueryItems = request.options.secretQueryItems
    }
}

/// Removes the secrets from the requests of a comparison.
///
/// One stack may mark a secret that another sends without a mark. So it knows the secrets of all stacks before it shows a
/// request.
struct WireRedaction {
    private let redactor: CassetteRedactor
    private let scanner: SecretScanner
    private let secretFields: Set<HTTPField.Name>
    private let secretQueryItems: Set<String>

    init(of heads: [SentHead], by redactor: CassetteRedactor, masking scanner: SecretScanner) {
        self.redactor = redactor
        self.scanner = scanner
        secretFields = heads.reduce(into: []) { $0.formUnion($1.secretFields) }
        secretQueryItems = heads.reduce(into: []) { $0.formUnion($1.secretQueryItems) }
        // The redactor notes the secrets that it replaces.
        for head in heads { _ = redacted(head) }
    }

    private func redacted(_ head: SentHead) -> RecordedRequest {
        redactor.matchable(
            RecordedRequest(head.head, secretFields: secretFields, secretQueryItems: secretQueryItems))
    }

    /// A request as it may be shown to a person.
    func shown(_ head: SentHead) -> StackComparison.WireRequest {
        var request = redacted(head)
        for index in request.fields.indices {
            let value = scanner.masked(request.fields[index].value)
            // Setting a field copies all fields.
            if value != request.fields[index].value { request.fields[index].value = value }
        }
        return StackComparison.WireRequest(
            method: request.method, url: scanner.masked(request.url), fields: request.fields)
    }
}
