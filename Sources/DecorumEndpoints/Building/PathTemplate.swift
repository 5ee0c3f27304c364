public import Decorum

/// The path of a group of requests, with names in braces in the place of the parts that vary (RFC 6570).
///
/// ```swift
/// let path: PathTemplate = "repos/{owner}/{name}/contents{/path*}"
/// let text = try path.expanded(["owner": "apple", "name": "swift", "path": PathSegments("docs/a b.md")])
/// // repos/apple/swift/contents/docs/a%20b.md
/// ```
///
/// | in the template | parameter | result |
/// |---|---|---|
/// | `{name}` | a value | one segment or a part of one, with all but the unreserved characters encoded |
/// | `{/name*}` | ``PathSegments`` | a slash and a segment for each |
///
/// A template is relative to the base URL of the API, whose path it never leaves: a slash at its start is an error, and so is a
/// segment that would be `.` or `..`, also after the server decodes it. It may have a query of its own, and it
/// may be an absolute URL whose scheme and host are written out.
///
/// It is a literal of the program and holds no secret, so it is the route name of the requests that are made of it.
public struct PathTemplate: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The template as it is written.
    public let text: String

    /// Creates a template, which is checked where it is expanded.
    ///
    /// - Parameter text: The template; no part of it may come from untrusted text.
    public init(_ text: String) {
        self.text = text
    }

    /// Creates a template from a literal, which has no interpolation.
    ///
    /// - Parameter value: The template.
    public init(stringLiteral value: String) {
        text = value
    }

    /// Puts the parameters into the template.
    ///
    /// - Parameter parameters: A value for each name of the template, and no others.
    /// - Returns: The path with its query, which is relative unless the template is a URL.
    /// - Throws: `InvalidRequestError` that names the parameter that is missing, unused, given twice, empty, or that would
    ///   lead to another path; or the character of the template that no path has.
    public func expanded(_ parameters: PathParameters = [:]) throws(InvalidRequestError) -> String {
        var expansion = PathExpansion(template: text, parameters: parameters)
        try expansion.run()
        return expansion.path
    }
}

extension PathTemplate: CustomStringConvertible {
    /// The template as it is written.
    public var description: String { text }
}
