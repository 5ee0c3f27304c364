public import HTTPTypes

/// The request of an interaction.
public struct RecordedRequest: Sendable, Hashable {
    /// The method, in the case in which it is sent.
    public var method: String
    /// The URL as the cassette has it.
    public var url: String
    /// The header fields in their order, repeats included.
    public var fields: HTTPFields
    /// The content.
    public var body: RecordedBody
    /// The trailer fields.
    public var trailers: HTTPFields

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The URL.
    ///   - fields: The header fields.
    ///   - body: The content.
    ///   - trailers: The trailer fields.
    public init(
        method: String, url: String, fields: HTTPFields = HTTPFields(), body: RecordedBody = RecordedBody(),
        trailers: HTTPFields = HTTPFields()
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.trailers = trailers
    }
}
