public import Decorum
public import Foundation
public import HTTPTypes

/// Content that a ``StubConnection`` or a ``LoopbackOrigin`` serves as a file server does, with its ranges and validators.
///
/// ```swift
/// let content = ServedContent("0123456789", lastModified: date)
/// origin.route(.get, "/file", .serving(content))
/// let stub = StubConnection(serving: content)
/// ```
///
/// A `GET` with a `Range` of bytes gets a 206, or a 416 if the content has none of them. It gets a 200 with the whole content
/// if it asks for several ranges, and if its `If-Range` is neither the entity tag nor the date of the content. A client that has
/// the content, by `If-None-Match` or `If-Modified-Since`, gets a 304. See RFC 9110, sections 13 and 14.
public struct ServedContent: Sendable {
    /// The content.
    public let data: Data
    /// The fields of a 200, with the validators.
    public let fields: HTTPFields

    /// Creates content.
    ///
    /// - Parameters:
    ///   - content: The bytes, or text.
    ///   - fields: Further fields, such as `Content-Type`; an `ETag` among them replaces the one that follows from the bytes.
    ///   - lastModified: The date of the content; nil for none.
    public init(_ content: some OriginBytes, fields: HTTPFields = [:], lastModified: Date? = nil) {
        data = content.originBytes
        var fields = fields
        fields[.acceptRanges] = "bytes"
        if !fields.contains(.eTag) {
            let hash = data.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
            fields[.eTag] = "\"\(String(hash, radix: 16))\""
        }
        if let lastModified { fields[.lastModified] = "\(HTTPDate(lastModified))" }
        self.fields = fields
    }

    /// Creates content from a file, with its date.
    ///
    /// - Parameters:
    ///   - file: The URL of the file.
    ///   - fields: Further fields, such as `Content-Type`.
    /// - Throws: An error of Foundation's if the file cannot be read.
    public init(contentsOf file: URL, fields: HTTPFields = [:]) throws {
        let date = try file.resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
        self.init(try Data(contentsOf: file, options: .mappedIfSafe), fields: fields, lastModified: date)
    }

    /// The response to a request.
    ///
    /// - Parameter request: The head of the request; other methods than `GET` and `HEAD` get the content too.
    /// - Returns: The response; that to a `HEAD` has no content.
    public func response(to request: HTTPRequest) -> Response {
        let (status, fields, part) = answer(to: request)
        let hasContent = request.method != .head && status != .notModified
        var response = Response(status: status, fields: fields, body: hasContent ? Body(part) : .empty)
        if status != .notModified { response.head.headerFields[.contentLength] = String(part.count) }
        return response
    }

    /// The status, the fields without a length, and the content of the response to a request.
    func answer(to request: HTTPRequest) -> (status: HTTPResponse.Status, fields: HTTPFields, content: Data) {
        guard !isCurrent(for: request.headerFields) else { return (.notModified, fields, Data()) }
        guard let range = request.headerFields[.range], request.method == .get, mayServePart(of: request.headerFields),
            let bounds = bounds(of: range)
        else { return (.ok, fields, data) }
        var fields = fields
        guard let first = bounds.first else {
            fields[.contentRange] = "bytes */\(data.count)"
            return (.rangeNotSatisfiable, fields, Data())
        }
        fields[.contentRange] = "bytes \(first)-\(first + bounds.count - 1)/\(data.count)"
        let start = data.startIndex + first
        return (.partialContent, fields, data[start..<start + bounds.count])
    }

    private func isCurrent(for conditions: HTTPFields) -> Bool {
        if let tags = conditions[.ifNoneMatch] {
            let opaque = { (tag: Substring) in tag.trimmingPrefix("W/") }
            let own = fields[.eTag].map { opaque($0[...]) }
            return tags.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                .contains { $0 == "*" || opaque($0[...]) == own }
        }
        guard let modified = fields[.lastModified], let since = conditions[.ifModifiedSince] else { return false }
        let dates = [modified, since].map { HTTPDate($0, at: .now)?.seconds }
        return dates[0].flatMap { own in dates[1].map { own <= $0 } } ?? false
    }

    private func mayServePart(of conditions: HTTPFields) -> Bool {
        guard let condition = conditions[.ifRange] else { return true }
        // A weak tag does not say that the bytes are the same.
        return !condition.hasPrefix("W/") && [fields[.eTag], fields[.lastModified]].contains(condition)
    }

    /// The offsets of one range, empty if the content has none of them; nil for anything else, which counts as no range.
    private func bounds(of range: String) -> Range<Int>? {
        guard let match = range.wholeMatch(of: /(?i:bytes)=\s*([0-9]*)-([0-9]*)\s*/) else { return nil }
        // A number that is too large is an offset behind the end.
        let numbers = [match.1, match.2].map { $0.isEmpty ? nil : Int($0) ?? .max }
        switch (numbers[0], numbers[1]) {
        case (nil, nil): return nil
        case (nil, let count?): return data.count - min(count, data.count)..<data.count
        case (let first?, let last?) where last < first: return nil
        case (let first?, let last): return min(first, data.count)..<min(last ?? .max, data.count - 1) + 1
        }
    }
}

extension StubConnection {
    /// Creates a stub that serves content at every URL.
    ///
    /// - Parameter content: The content.
    public convenience init(serving content: ServedContent) {
        self.init { request in content.response(to: request.head) }
    }
}

extension Response {
    /// A redirection, as in `StubConnection(.redirect(to: "/new"), Response(status: .ok))`.
    ///
    /// - Parameters:
    ///   - location: The value of `Location`.
    ///   - status: The status.
    /// - Returns: A response without content.
    public static func redirect(to location: String, _ status: HTTPResponse.Status = .found) -> Response {
        Response(status: status, fields: [.location: location])
    }
}

extension LoopbackOrigin.Answer {
    /// Serves content with its ranges and validators.
    public static func serving(_ content: ServedContent) -> Self { Self(steps: [.init(action: .serve(content))]) }

    /// Redirects to a location, whose value is sent as it is.
    public static func redirect(to location: String, _ status: HTTPResponse.Status = .found) -> Self {
        Self(status, fields: ["Location": location])
    }
}
