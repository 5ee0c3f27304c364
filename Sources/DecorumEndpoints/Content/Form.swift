public import Decorum
public import Foundation

extension Body {
    /// Creates a body from the fields of a form, with the media type `application/x-www-form-urlencoded`.
    ///
    /// - Parameter query: The names and values, in their order.
    public init(form query: Query) {
        var bytes: [UInt8] = []
        query.append(to: &bytes)
        self = Body(Data(bytes)).typed(as: "application/x-www-form-urlencoded")
    }
}

extension RequestContent {
    /// The fields of a form, with the media type `application/x-www-form-urlencoded`.
    ///
    /// - Parameter query: The names and values, in their order.
    /// - Returns: The content.
    public static func form(_ query: Query) -> RequestContent {
        RequestContent { Body(form: query) }
    }

    /// The members of a value as the fields of a form, in the order in which the value encodes them.
    ///
    /// ```swift
    /// let post = Endpoint<Void>.post("searches", content: .form(encoding: search, nesting: .flat))
    /// ```
    ///
    /// - Parameters:
    ///   - value: An object, such as a struct or a dictionary with keys that are strings.
    ///   - nesting: The names of values inside of other values.
    ///   - date: Makes the text of a date; by default, that of ISO 8601 in UTC.
    /// - Returns: The content, whose errors are those of ``Query/init(encoding:nesting:date:)``.
    public static func form(
        encoding value: some Encodable & Sendable, nesting: NestingStyle = .bracketed,
        date: @escaping @Sendable (Date) -> String = { $0.formatted(.iso8601) }
    ) -> RequestContent {
        RequestContent { Body(form: try Query(encoding: value, nesting: nesting, date: date)) }
    }
}
