import Foundation
public import HTTPTypes

/// A response has a status that was not accepted.
///
/// It owns the response, and so the transfer of its body, which ends when the last copy of the error is let go.
public struct StatusError: DescribableError {
    /// The method of the request.
    public let method: HTTPRequest.Method
    /// The origin that answered, or else the one that was asked; nil where neither is known.
    public let origin: Origin?
    /// The response, with its body unread.
    public let response: Response

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - origin: The origin that answered.
    ///   - response: The response.
    public init(method: HTTPRequest.Method, origin: Origin?, response: Response) {
        self.method = method
        self.origin = origin
        self.response = response
    }

    /// The status that was not accepted.
    public var status: HTTPResponse.Status { response.status }
}

extension StatusError: CustomDebugStringConvertible, CustomReflectable {
    /// The code of the status.
    public var shortDescription: String { "\(status.code)" }

    /// A sentence with the method, the origin and the code, and nothing else of the request or the response.
    public var description: String {
        let asked = origin.map { "\(method) \($0)" } ?? "\(method)"
        return "\(asked) was answered with the status \(status.code)."
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror that leaves out the response, whose fields and content may hold secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["method": method.rawValue, "origin": origin?.description as Any, "code": status.code])
    }
}
