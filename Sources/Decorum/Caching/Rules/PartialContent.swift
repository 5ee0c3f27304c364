import HTTPTypes

/// Parts of a content: serving them from a stored response, and combining them (RFC 9111, sections 3.3 and 3.4).
enum PartialContent {
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

    /// Answers a range from a stored response.
    ///
    /// - Returns: The response; nil when the stored response does not have the range.
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

    /// Combines a stored part and a part that has arrived.
    ///
    /// - Returns: The head and the body of both; nil when they do not fit together, or may belong to different
    ///   contents: a strong validator has to show that they belong to the same content (RFC 9110, section 15.3.7.3).
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

    /// Finds the stored start for a part that is being stored, so that more than the part is stored.
    ///
    /// - Returns: The combined response without its body, and the start of its body; nil without such a start.
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
    static func strongTag(of head: HTTPResponse) -> String? {
        head.headerFields.firstValue(of: .eTag).flatMap {
            $0.isEmpty || $0.hasPrefix("W/") || $0.hasPrefix("w/") ? nil : $0
        }
    }
}
