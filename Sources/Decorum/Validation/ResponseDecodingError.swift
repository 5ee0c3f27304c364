public import Foundation
public import HTTPTypes

/// The content of a response is not what the app expects.
public struct ResponseDecodingError: DescribableError {
    /// The decoder's error: a `DecodingError`, or one that an `init(from:)` of the app has thrown.
    public let underlying: any Error
    /// The name of the type that was to be decoded.
    public let type: String
    /// The number of bytes of the content.
    public let length: Int
    /// The status of the response; nil where only its body was decoded.
    public let status: HTTPResponse.Status?
    /// The value of `Content-Type`; nil where the response has none, or where only its body was decoded.
    public let contentType: String?
    /// The URL that answered; nil where it is not known.
    public let url: URL?
    /// The route name of the request; nil where it has none, or where the transport does not tell.
    public let routeName: String?
    /// The place of the value at fault, with the keys of the JSON, as in `items[1].created_at`; nil where the content as a whole is at
    /// fault, or where the decoder names no place.
    ///
    /// It is also known for a date that is not in the format of ISO 8601, for which a `DecodingError` on Linux names no place. A key
    /// that may be a secret is redacted.
    public var path: String? { fault.path }
    private let recordedNote: String?
    private let subject: String
    private let isEvent: Bool
    private let fault: ContentFault

    /// The error of the data of one event in a stream.
    package init(_ type: Any.Type, ofEvent data: Data, _ error: any Error, by decoder: JSONDecoder) {
        self.init(type, data, error, by: decoder, response: nil, isEvent: true)
    }

    init(
        _ type: Any.Type, _ content: Data, _ error: any Error, by decoder: JSONDecoder, response: Response?,
        isEvent: Bool = false
    ) {
        underlying = error
        self.type = String(describing: type)
        length = content.count
        status = response?.status
        contentType = response?.head.headerFields[.contentType]
        url = response?.metadata.url
        routeName = response?.metadata.routeName
        recordedNote = response?.metadata.recordedNote
        subject =
            response.map { "The " + ResponseSubject($0).text(length: content.count) }
            ?? "The \(isEvent ? "data of an event" : "content") (\(content.count) bytes)"
        self.isEvent = isEvent
        let convertsKeys = if case .convertFromSnakeCase = decoder.keyDecodingStrategy { true } else { false }
        fault = ContentFault(
            error, in: content, coding: response?.head.headerFields[.contentEncoding], convertsKeys: convertsKeys)
    }
}

extension ResponseDecodingError: CustomDebugStringConvertible, CustomReflectable {
    /// The response, with its URL but without the query, and the place and kind of the fault; never a value of the content.
    public var description: String {
        "\(subject) cannot be decoded as \(type): \(fault)" + (advice.map { " \($0)" } ?? "")
            + (recordedNote.map { " \($0)" } ?? "")
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the decoder's error may quote the content.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    private var advice: String? {
        if let status, !AcceptedStatuses.successful.contains(status) {
            return "Apply `validatingStatus()` to get such a response as an error."
        }
        if let status, status == .noContent || status == .resetContent {
            return "Such a response has no content; do not decode it."
        }
        if status == .notModified {
            return "It answers a precondition of the request and has no content; use the value that you have."
        }
        if isEvent, case .malformed(_, _, isEnd: true) = fault {
            return "The event itself was complete, so the server has sent its data so."
        }
        return fault.advice
    }
}

extension ResponseMetadata {
    /// The sentence about a response of which an error tells, and that no server has sent; nil for any other response.
    var recordedNote: String? {
        guard source == .cassette else { return nil }
        let place = recordingPlace?() ?? "a recording"
        return "It was played from \(place); `CASSETTE=verify` checks whether the server still answers so."
    }
}
