public import HTTPTypes

/// The response to a request that carried credentials, for the signer or the source that they came from.
///
/// It has no body: the body belongs to the caller. Descriptions and reflection show no field.
public struct AuthenticationAnswer: Sendable {
    /// The head of the request with its credentials.
    public let request: HTTPRequest
    /// The server that the request was sent to.
    public let origin: Origin
    /// The head of the response.
    public let head: HTTPResponse
    /// The facts about the response; its ``ResponseMetadata/source`` tells a server's answer from a stored or a recorded
    /// one.
    public let metadata: ResponseMetadata

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - request: The head of the request with its credentials.
    ///   - origin: The server that the request was sent to.
    ///   - head: The head of the response.
    ///   - metadata: The facts about the response.
    public init(
        request: HTTPRequest, origin: Origin, head: HTTPResponse, metadata: ResponseMetadata = ResponseMetadata()
    ) {
        self.request = request
        self.origin = origin
        self.head = head
        self.metadata = metadata
    }
}

extension AuthenticationAnswer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, the server and the status.
    public var description: String { "\(head.status.code) from \(origin) to \(request.method)" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the fields hold the credentials.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
