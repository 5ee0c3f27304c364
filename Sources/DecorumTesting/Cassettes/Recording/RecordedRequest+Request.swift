import Decorum
import HTTPTypes

extension RecordedRequest {
    /// The head of a request; fields that a layer has declared secret are marked as such, for the redaction, and declared
    /// items of the query are masked.
    init(_ head: HTTPRequest, secretFields: Set<HTTPField.Name>, secretQueryItems: Set<String> = []) {
        var url = Self.url(of: head)
        if !secretQueryItems.isEmpty { url = Self.masked(secretQueryItems, in: url) }
        self.init(method: head.method.rawValue, url: url, fields: head.headerFields)
        guard !secretFields.isEmpty else { return }
        for index in fields.indices where secretFields.contains(fields[index].name) {
            fields[index].indexingStrategy = .disallow
        }
    }

    /// The head of a request, with the secrets that its options declare.
    init(_ head: HTTPRequest, declaredBy options: RequestOptions) {
        self.init(head, secretFields: options.secretFields, secretQueryItems: options.secretQueryItems)
    }

    private static func url(of head: HTTPRequest) -> String {
        // The target URI of `OPTIONS *` has no path (RFC 9112, section 3.3).
        let path = head.path == "*" ? "" : head.path ?? ""
        guard let scheme = head.scheme, let authority = head.authority else { return path }
        let count = scheme.utf8.count + 3 + authority.utf8.count + path.utf8.count
        // Appending one text after the other to a string takes three times as long.
        return unsafe String(unsafeUninitializedCapacity: count) { output in
            var end = 0
            end = unsafe output[end...].initialize(fromContentsOf: scheme.utf8)
            end = unsafe output[end...].initialize(fromContentsOf: "://".utf8)
            end = unsafe output[end...].initialize(fromContentsOf: authority.utf8)
            end = unsafe output[end...].initialize(fromContentsOf: path.utf8)
            return end
        }
    }

    private static func masked(_ queryItems: Set<String>, in url: String) -> String {
        Redaction(ofItems: queryItems).applied(toURL: url)
    }

    /// A whole request, whose content is read to its end.
    init(reading request: borrowing Request, in cassette: Cassette) async throws {
        self.init(request.head, declaredBy: request.options)
        let (content, trailers) = try await request.body.collect(upTo: cassette.rules.bodyLimit)
        self.body.bytes = content
        self.trailers = trailers
    }
}
