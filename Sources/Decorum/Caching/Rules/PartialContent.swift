import Foundation
package import HTTPTypes

/// The conditions of a request, evaluated on a stored response (RFC 9110, section 13, and RFC 9111, section 4.3.2).
enum Preconditions {
    private static let unsupported = FieldNames([.ifMatch, .ifUnmodifiedSince])
    private static let all = FieldNames([
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ])

    /// Whether a request has a condition that only the origin server can evaluate, or that the mode leaves to it.
    static func needOrigin(_ fields: HTTPFields, in mode: CacheMode = .answering) -> Bool {
        let names = mode == .answering ? unsupported : all
        for index in fields.indices where names.contains(fields[index].name) { return true }
        return false
    }

    /// Whether the client already has the stored response, so that `304` is enough.
    static func areMet(_ fields: HTTPFields, by stored: HTTPResponse, at now: Date) -> Bool {
        guard stored.status == .ok || stored.status == .partialContent else { return false }
        if fields.has(.ifNoneMatch) {
            let tag = stored.headerFields.firstValue(of: .eTag)?.opaqueTag
            return fields.contains { field in
                field.name == .ifNoneMatch
                    && ListMembers(field.value).contains { $0 == "*" || String($0).opaqueTag == tag }
            }
        }
        guard let value = fields.firstValue(of: .ifModifiedSince), let date = HTTPDate(value, at: now) else {
            return false
        }
        let modified =
            stored.headerFields.firstValue(of: .lastModified) ?? stored.headerFields.firstValue(of: .date)
        return modified.flatMap { HTTPDate($0, at: now) }.map { $0.seconds <= date.seconds } ?? false
    }

    /// The range that a request asks for, with respect to its `If-Range` (RFC 9110, sections 13.1.5 and 14.2); nil if the
    /// whole content is the answer.
    static func range(of request: HTTPRequest, in stored: StoredResponse) -> ByteRange? {
        let fields = request.headerFields
        guard request.method == .get, fields.has(.range),
            let range = fields.firstValue(of: .range).flatMap({ ByteRange($0) })
        else { return nil }
        guard fields.has(.ifRange) else { return range }
        guard let condition = fields[.ifRange], isMet(ifRange: condition, by: stored.head, at: stored.date) else {
            return nil
        }
        return range
    }

    /// Whether the condition names the stored content byte for byte: a strong tag, or the date of a content that was
    /// not modified again within the second (RFC 9110, section 8.8.2.2).
    private static func isMet(ifRange condition: String, by stored: HTTPResponse, at now: Date) -> Bool {
        if condition.utf8.first == UInt8(ascii: "\"") { return PartialContent.strongTag(of: stored) == condition }
        let fields = stored.headerFields
        guard let modified = fields.firstValue(of: .lastModified), modified == condition,
            let sent = fields.firstValue(of: .date).flatMap({ HTTPDate($0, at: now) }),
            let date = HTTPDate(modified, at: now)
        else { return false }
        return sent.seconds - date.seconds >= strongDateDistance
    }

    /// The seconds by which `Date` is later than a `Last-Modified` that counts as strong, even if the clocks that wrote
    /// them differ.
    private static let strongDateDistance: Int64 = 60

    /// The fields of a `304` (RFC 9110, section 15.4.5): the metadata of the stored response, not of its content.
    static func notModified(_ stored: HTTPResponse) -> HTTPResponse {
        var head = stored
        head.status = .notModified
        for name in [HTTPField.Name.contentLength, .contentRange, .contentEncoding, .contentType] {
            if head.headerFields.contains(name) { head.headerFields[name] = nil }
        }
        return head
    }
}

/// Parts of a content: serving them from a stored response, and combining them (RFC 9111, sections 3.3 and 3.4).
package enum PartialContent {
    /// The offsets of the whole content that a stored response has.
    ///
    /// A part that is shorter than its `Content-Range` ends at the end of its content.
    static func bounds(of stored: StoredResponse) -> ContentRange? {
        guard stored.head.status == .partialContent else {
            return stored.body.length.map { ContentRange(bounds: 0..<$0, length: $0) }
        }
        guard var held = ContentRange(stored.head.headerFields), let count = stored.body.length else { return nil }
        let start = held.bounds.lowerBound
        held.bounds = start..<(start + min(held.bounds.upperBound - start, count))
        return held
    }

    /// Whether a stored response has what a request asks for: a range, or with nil the whole content.
    static func canAnswer(_ range: ByteRange?, from stored: StoredResponse) -> Bool {
        guard stored.isPart else { return true }
        return range.flatMap { part($0, of: stored) } != nil
    }

    /// Answers a range from a stored response; nil when that does not have the range.
    static func answer(_ range: ByteRange, from stored: StoredResponse) -> (head: HTTPResponse, body: Body)? {
        guard let (held, wanted) = part(range, of: stored), let length = held.length else { return nil }
        guard !wanted.isEmpty else {
            var head = HTTPResponse(status: .rangeNotSatisfiable)
            head.headerFields[.contentRange] = "bytes */\(length)"
            return (head, .empty)
        }
        var head = stored.head
        head.status = .partialContent
        head.headerFields[.contentRange] = ContentRange(bounds: wanted, length: length).value
        head.headerFields[.contentLength] = String(wanted.count)
        let offset = held.bounds.lowerBound
        return (head, stored.body.slice((wanted.lowerBound - offset)..<(wanted.upperBound - offset)))
    }

    /// The offsets of a range within the stored content; empty when the range is outside of it, which only the whole
    /// content shows.
    private static func part(_ range: ByteRange, of stored: StoredResponse) -> (ContentRange, wanted: Range<Int64>)? {
        guard let held = bounds(of: stored), let length = held.length else { return nil }
        guard var wanted = range.resolved(in: length) else {
            return stored.isPart ? nil : (held, 0..<0)
        }
        // A request up to the end of the content gets the stored end, if the stored part was sent as the end of the
        // content.
        if range.isToEnd, ContentRange(stored.head.headerFields)?.bounds.upperBound == length,
            let end = range.resolved(in: held.bounds.upperBound)
        {
            wanted = end
        }
        let isHeld = held.bounds.lowerBound <= wanted.lowerBound && wanted.upperBound <= held.bounds.upperBound
        return isHeld ? (held, wanted) : nil
    }

    /// The range that completes a stored start of a content.
    static func missing(after stored: StoredResponse) -> ByteRange? {
        guard let held = bounds(of: stored), let length = held.length, held.bounds.lowerBound == 0,
            held.bounds.upperBound < length
        else { return nil }
        return .from(held.bounds.upperBound, through: nil)
    }

    /// Combines a stored part and a part that has arrived; nil when they do not fit together, or may belong to different
    /// contents: a strong validator has to show that they belong to the same content (RFC 9110, section 15.3.7.3).
    static func combined(
        _ stored: StoredResponse, with part: HTTPResponse, _ body: Body
    ) -> (head: HTTPResponse, body: Body)? {
        guard let both = combinedHead(stored, with: part, body), both.head.status == .ok else { return nil }
        return (both.head, stored.body.slice(0..<both.kept).followed(by: body))
    }

    private static func combinedHead(
        _ stored: StoredResponse, with part: HTTPResponse, _ body: Body
    ) -> (head: HTTPResponse, kept: Int64)? {
        // A body that may be shorter than its field says could leave a gap or make an incomplete whole.
        guard let held = bounds(of: stored), let new = ContentRange(part.headerFields),
            body.length == new.bounds.upperBound - new.bounds.lowerBound,
            let tag = strongTag(of: part), tag == strongTag(of: stored.head), held.length == new.length,
            held.bounds.lowerBound <= new.bounds.lowerBound, new.bounds.lowerBound <= held.bounds.upperBound,
            new.bounds.upperBound >= held.bounds.upperBound
        else { return nil }
        let kept = new.bounds.lowerBound - held.bounds.lowerBound
        let bounds = held.bounds.lowerBound..<new.bounds.upperBound
        var head = Validation.freshened(stored.head, with: part.headerFields)
        if bounds.lowerBound == 0, bounds.upperBound == new.length {
            head.status = .ok
            head.headerFields[.contentRange] = nil
        } else {
            head.headerFields[.contentRange] = ContentRange(bounds: bounds, length: new.length).value
        }
        head.headerFields[.contentLength] = String(bounds.count)
        return (head, kept)
    }

    /// Finds the stored start for a part that is being stored, so that more than the part is stored; the result is the
    /// combined response without its body, and the start of its body.
    static func extended(
        _ stored: StoredResponse, by part: StoredResponse
    ) -> (response: StoredResponse, body: Body)? {
        guard stored.head.status == .partialContent, part.head.status == .partialContent,
            stored.vary == part.vary, stored.decodedContentCodings == part.decodedContentCodings,
            let both = combinedHead(stored, with: part.head, part.body)
        else { return nil }
        let response = StoredResponse(
            head: both.head, body: .empty, selectingFields: part.selectingFields, requestDate: part.requestDate,
            date: part.date, decodedContentCodings: part.decodedContentCodings)
        return (response, stored.body.slice(0..<both.kept))
    }

    /// An entity tag that says that two contents are the same byte for byte.
    package static func strongTag(of head: HTTPResponse) -> String? {
        head.headerFields.firstValue(of: .eTag).flatMap {
            $0.isEmpty || $0.hasPrefix("W/") || $0.hasPrefix("w/") ? nil : $0
        }
    }
}

/// One range of bytes that a request asks for (RFC 9110, section 14.1.2).
package enum ByteRange: Sendable, Equatable {
    case from(Int64, through: Int64?)
    case last(Int64)

    /// Reads the range of a request; nil for another unit, for several ranges, and for an invalid value.
    init?(_ value: String) {
        let unit = "bytes="
        guard value.utf8.count <= 64, value.prefix(unit.count).lowercased() == unit else { return nil }
        let parts = value.dropFirst(unit.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let numbers = parts.map { DecimalDigits.parse($0) }
        switch (parts[0].isEmpty, numbers[0], numbers[1]) {
        case (true, _, let count?): self = .last(count)
        case (false, let first?, let last?) where first <= last: self = .from(first, through: last)
        case (false, let first?, nil) where parts[1].isEmpty: self = .from(first, through: nil)
        default: return nil
        }
    }

    /// The value of the field.
    package var value: String {
        switch self {
        case .from(let first, let last): "bytes=\(first)-\(last.map { String($0) } ?? "")"
        case .last(let count): "bytes=-\(count)"
        }
    }

    /// Whether the range ends at the end of the content.
    var isToEnd: Bool {
        if case .from(_, through: .some) = self { false } else { true }
    }

    /// The offsets within a content of a length; nil when the range is outside of the content.
    func resolved(in length: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last):
            guard first < length else { return nil }
            return first..<(min(last ?? .max, length - 1) + 1)
        case .last(let count):
            guard count > 0, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }
}

/// The part of the content that a response holds (RFC 9110, section 14.4).
package struct ContentRange: Sendable, Equatable {
    package var bounds: Range<Int64>
    /// The number of bytes of the whole content; nil if it is not known.
    package var length: Int64?

    init(bounds: Range<Int64>, length: Int64?) {
        self.bounds = bounds
        self.length = length
    }

    /// Reads the field of a response; nil when absent, or when it is not one range of bytes.
    package init?(_ fields: HTTPFields) {
        let unit = "bytes "
        guard let value = fields.firstValue(of: .contentRange), value.utf8.count <= 80,
            value.prefix(unit.count).lowercased() == unit
        else { return nil }
        let parts = value.dropFirst(unit.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let offsets = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard offsets.count == 2, let first = DecimalDigits.parse(offsets[0]),
            let last = DecimalDigits.parse(offsets[1]), first <= last, last < .max
        else { return nil }
        length = DecimalDigits.parse(parts[1])
        guard length != nil || parts[1] == "*", last < length ?? .max else { return nil }
        bounds = first..<(last + 1)
    }

    /// The value of the field.
    var value: String {
        "bytes \(bounds.lowerBound)-\(bounds.upperBound - 1)/\(length.map { String($0) } ?? "*")"
    }
}

private enum DecimalDigits {
    static func parse(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
