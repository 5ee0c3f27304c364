import Decorum
import Foundation
import HTTPTypes

/// The way from a page of a list to the next one.
///
/// ```swift
/// struct Page: Decodable {
///     let items: [Item]
///     let nextCursor: String?
/// }
/// let rule = PageRule<Page>.cursor("after") { page in page.nextCursor }
/// ```
public struct PageRule<Page: Sendable>: Sendable {
    let next: @Sendable (TypedResponse<Page>) throws -> NextPage?

    /// Creates a rule.
    ///
    /// - Parameter next: Finds the next page of a response; nil after the last one.
    public init(_ next: @escaping @Sendable (_ response: TypedResponse<Page>) throws -> NextPage?) {
        self.next = next
    }

    /// The next page is that of a link in the field `Link` (RFC 8288); without such a link, the page is the last one.
    ///
    /// A link whose reference is no URL of a page ends the walk with a ``PageError``.
    ///
    /// - Parameter relation: The relation type of the link.
    /// - Returns: The rule.
    public static func link(_ relation: String = "next") -> Self {
        Self { response in Response(head: response.head).linkReference(relation).map { .url($0) } }
    }

    /// The next page has the URL that the page names; nil after the last page.
    ///
    /// - Parameter url: Finds the URL in a page, which may be relative to that of the page.
    /// - Returns: The rule.
    public static func url(_ url: @escaping @Sendable (_ page: Page) -> String?) -> Self {
        Self { response in url(response.value).map { .url($0) } }
    }

    /// The next page is that of the same URL with a cursor in its query; nil and an empty cursor are those of the last page.
    ///
    /// - Parameters:
    ///   - name: The name of the cursor in the query.
    ///   - cursor: Finds the cursor in a page.
    /// - Returns: The rule.
    public static func cursor(
        _ name: String, _ cursor: @escaping @Sendable (_ page: Page) -> String?
    ) -> Self {
        Self { response in
            cursor(response.value).flatMap { $0.isEmpty ? nil : .query(name, $0) }
        }
    }

    /// The next page begins after the elements of this one; a page without elements is the last one.
    ///
    /// - Parameters:
    ///   - name: The name of the offset in the query, which counts from 0.
    ///   - count: The number of elements of a page.
    /// - Returns: The rule.
    public static func offset(_ name: String, _ count: @escaping @Sendable (_ page: Page) -> Int) -> Self {
        Self { response in
            let count = count(response.value)
            let offset = QueryText.value(of: name, in: response.request.head.path ?? "").flatMap { Int($0) } ?? 0
            let (end, overflows) = offset.addingReportingOverflow(count)
            return count > 0 && !overflows ? .query(name, String(end)) : nil
        }
    }

    /// The next page has the next number; a page without elements is the last one.
    ///
    /// - Parameters:
    ///   - name: The name of the number in the query.
    ///   - first: The number of the first page, which a request without a number asks for.
    ///   - count: The number of elements of a page.
    /// - Returns: The rule.
    public static func number(
        _ name: String, from first: Int = 1, _ count: @escaping @Sendable (_ page: Page) -> Int
    ) -> Self {
        Self { response in
            let number = QueryText.value(of: name, in: response.request.head.path ?? "").flatMap { Int($0) } ?? first
            return count(response.value) > 0 && number < .max ? .query(name, String(number + 1)) : nil
        }
    }
}

/// The place of the next page.
public enum NextPage: Sendable, Hashable {
    /// A URL, which may be relative to that of the page.
    case url(String)
    /// The same URL, with one value for a name in its query, which replaces those that are there.
    case query(_ name: String, _ value: String)
}

extension NextPage: CustomStringConvertible, CustomReflectable {
    /// The kind of the place, without its URL or its value, which may be secret.
    public var description: String {
        switch self {
        case .url: "a URL"
        case .query(let name, _): "the query item \(name)"
        }
    }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension TypedResponse {
    /// The URL that answered, or else that of the request; nil where both are unknown.
    var url: URL? { metadata.url ?? request.url }
}
