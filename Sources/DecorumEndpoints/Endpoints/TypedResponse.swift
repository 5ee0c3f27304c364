public import Decorum
public import Foundation
public import HTTPTypes

/// The value of an endpoint, and the response it was made from.
public struct TypedResponse<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The content; nil where it was not read into memory, as of a file.
    public let content: Data?
    /// The status and the fields.
    public let head: HTTPResponse
    /// Facts about the response that come from the layers, such as its URL after redirections.
    public let metadata: ResponseMetadata
    /// The request as the endpoint has made it; layers may have added to it.
    public let request: Request
}

extension TypedResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status and the type of the value; never fields or content.
    public var description: String { "\(head.status.code) with a value of \(Value.self)" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, so that `dump` shows no field.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
