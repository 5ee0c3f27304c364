/// How much a log tells of an exchange.
public struct LogDetail: Sendable, Hashable, CustomStringConvertible {
    let showsFields: Bool
    let bodyLimit: Int
    /// The name of the detail.
    public let description: String

    /// One line: what was asked, how it ended, how long it took.
    public static let line = LogDetail(showsFields: false, bodyLimit: 0, description: "line")

    /// The line, and the fields of the request and the response.
    public static let fields = LogDetail(showsFields: true, bodyLimit: 0, description: "fields")

    /// The line, the fields, and the start of each body.
    ///
    /// JSON and forms are shown, which a redaction can read. Other text is shown only under ``Redaction/none``; of all
    /// else, and of content with a content coding, the log tells the number of bytes.
    ///
    /// - Parameter limit: The largest number of bytes to show of a body; the rest is not kept.
    /// - Returns: A detail with bodies.
    public static func bodies(upTo limit: Int = 1024) -> LogDetail {
        LogDetail(showsFields: true, bodyLimit: max(0, limit), description: "bodies(upTo: \(limit))")
    }
}
