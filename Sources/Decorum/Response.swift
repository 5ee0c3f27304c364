public import HTTPTypes

/// An answer: its head, its body, which may still be under way, and what the layers tell about it.
public struct Response: Sendable {
    /// The status and the header fields.
    public var head: HTTPResponse
    /// The content, which owns its transfer: dropping it unread ends the transfer.
    public var body: Body
    /// Where the response came from and what happened on the way.
    public var metadata: ResponseMetadata

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - head: The status and the header fields.
    ///   - body: The content.
    ///   - metadata: What there is to tell about the response.
    public init(head: HTTPResponse, body: Body = .empty, metadata: ResponseMetadata = ResponseMetadata()) {
        self.head = head
        self.body = body
        self.metadata = metadata
    }

    /// Creates a response from a status.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The header fields; no `Content-Length` is added.
    ///   - body: The content.
    public init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: Body = .empty) {
        self.init(head: HTTPResponse(status: status, headerFields: fields), body: body)
    }

    /// The status of the response.
    public var status: HTTPResponse.Status {
        get { head.status }
        set { head.status = newValue }
    }
}

extension Response: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status and where the response came from; never fields or content.
    public var description: String {
        "\(status.code)" + (metadata.source.map { " from \($0)" } ?? "")
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with the description and the body alone, so that `dump` shows no field.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description, "body": body.description])
    }
}
