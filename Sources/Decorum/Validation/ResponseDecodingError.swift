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
    private let fault: ContentFault

    init(_ type: Any.Type, _ content: Data, _ error: any Error, response: Response?) {
        underlying = error
        self.type = String(describing: type)
        length = content.count
        status = response?.status
        contentType = response?.head.headerFields[.contentType]
        url = response?.metadata.url
        fault = ContentFault(error, in: content, coding: response?.head.headerFields[.contentEncoding])
    }
}

extension ResponseDecodingError: CustomDebugStringConvertible, CustomReflectable {
    /// The response, without the secrets of its URL, and the place and kind of the fault; never a value of the content.
    public var description: String {
        "\(subject) cannot be decoded as \(type): \(fault)" + (advice.map { " \($0)" } ?? "")
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the decoder's error may quote the content.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    private var subject: String {
        let kind = contentType.map { Redaction.shownWords($0) + ", " } ?? ""
        guard let status else { return "The content (\(kind)\(length) bytes)" }
        let place = url.map { " of " + Redaction.described($0.absoluteString) } ?? ""
        return "The response \(status.code)\(place) (\(kind)\(length) bytes)"
    }

    private var advice: String? {
        if let status, !AcceptedStatuses.successful.contains(status) {
            return "Apply `validatingStatus()` to get such a response as an error."
        }
        return fault.advice
    }
}
