/// An app's own name for requests that belong together, such as the images, the metrics or the large transfers of an app.
///
/// ```swift
/// extension RequestGroup {
///     static let images: RequestGroup = "images"
/// }
/// ```
///
/// A group is never sent. Layers of `DecorumTraffic` limit, break and route by it.
public struct RequestGroup: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name, out of a small set.
    public let name: String

    /// Creates a group.
    ///
    /// - Parameter name: The name, out of a small set; no identifier of a user or a resource.
    public init(_ name: String) { self.name = name }

    /// Creates a group from a literal.
    public init(stringLiteral name: String) { self.name = name }

    /// The name.
    public var description: String { name }
}

extension RequestOptions {
    /// The group that the request belongs to; nil, the default, for a request of no group.
    public var group: RequestGroup? {
        get { self[GroupKey.self] }
        set { self[GroupKey.self] = newValue }
    }
}

private enum GroupKey: RequestOptionKey { static let defaultValue: RequestGroup? = nil }
