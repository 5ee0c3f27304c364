public import Decorum
public import Foundation
public import HTTPTypes

/// An API has answered a call with a status that its endpoint does not accept.
///
/// ```swift
/// do {
///     return try await github.value(of: .repository(owner, name))
/// } catch let error as RefusalError where error.status == .notFound {
///     return nil
/// } catch let error as RefusalError {
///     throw UserMessage(error.problem(as: GitHubProblem.self)?.message)
/// }
/// ```
public struct RefusalError: DescribableError {
    /// The status with what is known about it: the words of the server, its `Retry-After`, and the response.
    ///
    /// The response holds its transfer open where its content was not read to the end; it ends with the error.
    public let statusError: StatusError
    /// The first 64 KiB of the content; nil where it was not read, since it is neither JSON nor text, or is known to be longer.
    ///
    /// A server may quote any part of the request there, so no description has it.
    public let content: Data?
    let decodedProblem: (any Sendable)?

    /// The status that was not accepted.
    public var status: HTTPResponse.Status { statusError.status }

    /// The response, whose content is in its body; see `StatusError.response`.
    public var response: Response { statusError.response }

    /// The words in which the server says what is wrong, wherever an API has them; see `StatusError.problem`.
    public var problem: String? { statusError.problem }

    /// The parts of the request that the server finds wrong; see `StatusError.fieldProblems`.
    public var fieldProblems: [StatusError.FieldProblem] { statusError.fieldProblems }

    /// The time for which the server asks to wait, or until a rate limit is renewed; see `StatusError.retryAfter`.
    public var retryAfter: Duration? { statusError.retryAfter }

    /// The date at which that time ends; see `StatusError.retryDate`.
    public var retryDate: Date? { statusError.retryDate }

    /// The API's own error; nil where the API names no type, where the type is another one, or where the content does not
    /// decode as that type, as of a gateway's page.
    ///
    /// - Parameter type: The type that ``API`` names.
    /// - Returns: The decoded error.
    public func problem<Problem>(as type: Problem.Type) -> Problem? { decodedProblem as? Problem }

    /// The code of the status.
    public var shortDescription: String { statusError.shortDescription }

    /// The request, the codes of the status and of the problem, and what to do next; see `StatusError`.
    public var description: String { statusError.description }
}

extension RefusalError: CustomDebugStringConvertible, CustomReflectable {
    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the content may hold secrets.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
