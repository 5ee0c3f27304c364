import Decorum
import Foundation
import HTTPTypes

/// The reason why a download has begun anew with the first byte.
public enum DownloadRestart: String, Sendable, Hashable, Codable, CaseIterable {
    /// The server has answered a request for the rest with the whole content.
    case rangeIgnored
    /// The server has another content than before.
    case changed
    /// The server has sent another part than the one that was asked for, or a part that fits no content.
    case wrongRange
    /// The server has told nothing by which the same content is recognized for certain, such as a strong entity tag.
    case noValidator
    /// The part on the disk was damaged, of another request, of another user, or no plain file; it was set aside.
    case unusablePart
}

/// A content as its server has described it.
struct DownloadContent: Sendable, Hashable, Codable {
    /// The value by which a later request asks for the rest of the same content; nil if that is not possible.
    var validator: String?
    /// The number of bytes; nil if the server did not tell it.
    var length: Int64?
    /// The content coding of the bytes; nil if they are not coded.
    var coding: String?
}

/// The next step after the head of an answer.
enum DownloadStep: Sendable, Hashable {
    /// The body is the whole content.
    case begin(DownloadContent, because: DownloadRestart?)
    /// The body is these bytes of the content.
    case take(Range<Int64>, of: DownloadContent)
    case complete
    /// The whole content is asked for.
    case askAnew(DownloadRestart)
    case wait
    case refuse
}

/// What an answer to a request for bytes means (RFC 9110, sections 13.1.5, 14 and 15.3.7).
enum DownloadDecision {
    /// The value of `If-Range` that names a content byte for byte: a strong entity tag, or without a tag a date at least a
    /// minute before the answer (RFC 9110, section 8.8.2.2).
    static func validator(of head: HTTPResponse) -> String? {
        let fields = head.headerFields
        guard fields[.acceptRanges]?.lowercased() != "none" else { return nil }
        guard fields[.eTag] == nil else { return PartialContent.strongTag(of: head) }
        let instant = Date(timeIntervalSince1970: 0)
        guard let modified = fields[.lastModified], let date = HTTPDate(modified, at: instant),
            let sent = fields[.date].flatMap({ HTTPDate($0, at: instant) }), sent.seconds - date.seconds >= 60
        else { return nil }
        return modified
    }

    static func coding(of head: HTTPResponse) -> String? {
        head.headerFields[.contentEncoding].flatMap { $0.lowercased() == "identity" ? nil : $0 }
    }

    /// What an answer means for what was known of the content: `Int64.max` stands for its end, and nil for all of it.
    static func step(
        after response: Response, asking asked: Range<Int64>?, of known: DownloadContent, arrived: Int64
    ) -> DownloadStep {
        let (head, coding) = (response.head, coding(of: response.head))
        // A body that was decoded on the way has not the bytes of the server.
        let isDecoded = !response.metadata.decodedContentCodings.isEmpty
        switch head.status.code {
        case 200, 203:
            var content = DownloadContent(coding: coding)
            if !isDecoded { content.length = response.body.length ?? head.headerFields[.contentLength].flatMap(length) }
            // The coding may differ from one answer to the next.
            if !isDecoded, coding == nil { content.validator = validator(of: head) }
            let reason: DownloadRestart = content.validator == known.validator ? .rangeIgnored : .changed
            return .begin(content, because: arrived == 0 ? nil : asked == nil ? .noValidator : reason)
        case 206:
            guard let asked else { return .refuse }
            guard !isDecoded, coding == known.coding, let range = ContentRange(head.headerFields),
                let length = range.length, case let bytes = range.bounds, bytes.lowerBound == asked.lowerBound,
                bytes.upperBound <= min(asked.upperBound, length),
                response.body.length ?? Int64(bytes.count) == Int64(bytes.count)
            else { return .askAnew(.wrongRange) }
            let validator = validator(of: head)
            if let former = known.validator {
                // The answer to a date in `If-Range` may leave the validators out (RFC 9110, section 15.3.7).
                let isSilent = !head.headerFields.contains(.eTag) && !head.headerFields.contains(.lastModified)
                guard validator == former || isSilent && !former.hasPrefix("\""), known.length ?? length == length
                else { return .askAnew(.changed) }
            } else if validator == nil, bytes != 0..<length {
                // The first part needs a validator, unless it is the whole.
                return .askAnew(.noValidator)
            }
            return .take(bytes, of: .init(validator: known.validator ?? validator, length: length, coding: coding))
        case 416 where asked != nil:
            // The length of the whole content (RFC 9110, section 15.5.17).
            let whole = head.headerFields[.contentRange].map { $0.lowercased().trimmingPrefix("bytes */") }
            let isReached = [whole.flatMap { length("\($0)") }, known.length ?? arrived] == [arrived, arrived]
            // A server that knows no `If-Range` may have another content of the same length.
            let tag = arrived == 0 ? nil : head.headerFields[.eTag]
            return isReached && tag ?? known.validator == known.validator ? .complete : .askAnew(.changed)
        case 412 where asked != nil: return .askAnew(.changed)
        case 408, 425, 429, 500, 502, 503, 504: return .wait
        default: return .refuse
        }
    }

    private static func length(_ digits: String) -> Int64? { Int64(digits).flatMap { $0 >= 0 ? $0 : nil } }
}

extension HTTPFields {
    /// Asks for bytes of a content; `Int64.max` stands for its end.
    mutating func ask(for bytes: Range<Int64>, of validator: String?) {
        let last = bytes.upperBound == .max ? nil : bytes.upperBound - 1
        self[.range] = ByteRange.from(bytes.lowerBound, through: last).value
        self[.ifRange] = validator
    }
}
