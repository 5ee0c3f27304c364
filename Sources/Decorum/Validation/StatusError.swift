import Foundation
public import HTTPTypes

/// A response has a status that was not accepted.
///
/// It owns the response and so the transfer of its body, which ends when the last copy of the error is dropped.
public struct StatusError: DescribableError {
    /// The method of the request.
    public let method: HTTPRequest.Method
    /// The origin that answered, or else the origin of the request; nil when both are unknown.
    public let origin: Origin?
    /// The route name of the request; nil where it has none.
    public let routeName: String?
    /// The response, whose body can be read.
    public let response: Response
    /// The text in which the server says what is wrong; nil where it does not, or where that is not known.
    ///
    /// It comes from the members `title`, `detail` (RFC 9457), `message`, `error` and `error_description` of JSON, is
    /// cut to 200 characters, and has no secret that ``Redaction/standard`` knows.
    public let problem: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - origin: The origin that answered.
    ///   - routeName: The route name of the request.
    ///   - response: The response; the problem is taken from its body where that is in memory.
    public init(method: HTTPRequest.Method, origin: Origin?, routeName: String? = nil, response: Response) {
        self.init(
            method: method, origin: origin, routeName: routeName, response: response,
            problem: response.problemKind == .json ? response.body.bytes.flatMap(ProblemText.find) : nil)
    }

    init(method: HTTPRequest.Method, origin: Origin?, routeName: String?, response: Response, problem: String?) {
        self.method = method
        self.origin = origin
        self.routeName = routeName
        self.response = response
        self.problem = problem
    }

    /// The status that was not accepted.
    public var status: HTTPResponse.Status { response.status }
}

extension StatusError: CustomDebugStringConvertible, CustomReflectable {
    /// The code of the status.
    public var shortDescription: String { "\(status.code)" }

    /// A sentence with only the method, the origin, the route name, the code of the exchange, and the problem.
    public var description: String {
        let asked = origin.map { "\(method) \($0)" } ?? "\(method)"
        let route = routeName.map { " (route “\(Redaction.shownWords($0))”)" } ?? ""
        let problem = problem.map { ": “\($0)”" } ?? ""
        return "\(asked)\(route) was answered with the status \(status.code)\(problem)."
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror that leaves out the response, whose fields and content may hold secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "method": method.rawValue, "origin": origin?.description as Any, "code": status.code,
                "route": routeName as Any, "problem": problem as Any,
            ])
    }
}
