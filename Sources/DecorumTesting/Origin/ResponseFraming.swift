import HTTPTypes

/// How a response's content is delimited (RFC 9112, section 6.3), and what the connection does after it.
struct ResponseFraming {
    var fields: RawFields
    var hasContent: Bool
    var isChunked = false
    var keepsConnection: Bool

    init(
        status: HTTPResponse.Status, fields: RawFields, content: LoopbackOrigin.Step.Content,
        method: HTTPRequest.Method?, version: String, keepsConnection: Bool
    ) {
        let isBodiless = status.kind == .informational || status == .noContent || status == .notModified
        let isHTTP10 = version == "HTTP/1.0"
        hasContent = method != .head && !isBodiless
        self.fields = fields
        self.keepsConnection = keepsConnection && !fields.has("close", in: "Connection")

        switch content {
        case .bytes(let bytes):
            if !isBodiless { addLength(Int64(bytes.count)) }
        case .generated(let count, isChunked: false):
            if !isBodiless { addLength(count) }
        case .chunks, .generated(_, isChunked: true):
            isChunked = !isHTTP10
            if isChunked, !isBodiless { addField("Transfer-Encoding", "chunked") }
            if isHTTP10, hasContent { self.keepsConnection = false }
        case .untilClose:
            if hasContent { self.keepsConnection = false }
        }
        if !self.keepsConnection {
            addField("Connection", "close")
        } else if isHTTP10 {
            addField("Connection", "keep-alive")
        }
    }

    private mutating func addLength(_ length: Int64) {
        guard fields["Transfer-Encoding"] == nil else { return }
        addField("Content-Length", String(length))
    }

    /// Adds a field unless the test has set it.
    private mutating func addField(_ name: String, _ value: String) {
        guard fields[name] == nil else { return }
        fields.lines.append(.init(name: name, value: value))
    }
}
