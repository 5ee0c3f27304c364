import Decorum
public import Foundation
public import HTTPTypes

extension HAR.Request {
    /// Creates a request with all its parts in an archive: the query, the cookies, and the content.
    ///
    /// Content that is not text is written as base64 with the mark of the draft of HAR 1.3, since HAR 1.2 has no mark
    /// for requests. The URL has no fragment, and characters that are not valid in a URL are percent-encoded.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The URL.
    ///   - fields: The header fields.
    ///   - content: The content.
    public init(method: String, url: String, fields: HTTPFields, content: Data = Data()) {
        self.init(method: method, url: HAR.written(url), headers: fields.map { HAR.Field($0.name.rawName, $0.value) })
        bodySize = content.count
        cookies = fields[values: .cookie].flatMap { $0.split(separator: ";") }.map { pair in
            let (name, value) = HAR.split(pair.drop { $0 == " " })
            return HAR.Cookie(name, value)
        }
        let query = self.url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        if query.count > 1 {
            queryString = query[1].split(separator: "&").map { pair in
                let (name, value) = HAR.split(pair)
                return HAR.Field(HAR.percentDecoded(name), HAR.percentDecoded(value))
            }
        }
        if !content.isEmpty {
            let type = fields[values: .contentType].first ?? ""
            let (text, encoding) = HAR.text(of: content, type: type)
            postData = HAR.PostData(mimeType: type, text: text, encoding: encoding)
        }
    }
}

extension HAR.Response {
    /// Creates a response with all its parts in an archive: the cookies, the redirection, and the content.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - reason: The reason phrase.
    ///   - fields: The header fields.
    ///   - content: The content, without its content coding.
    public init(status: Int, reason: String = "", fields: HTTPFields, content: Data = Data()) {
        self.init(status: status, headers: fields.map { HAR.Field($0.name.rawName, $0.value) })
        statusText = reason
        cookies = fields[values: .setCookie].map(HAR.Cookie.init(setCookie:))
        redirectURL = fields[values: .location].first ?? ""
        bodySize = content.count
        let type = fields[values: .contentType].first ?? ""
        let (text, encoding) = HAR.text(of: content, type: type)
        self.content = HAR.Content(mimeType: type, text: content.isEmpty ? nil : text, encoding: encoding)
        self.content.size = content.count
    }
}

extension HAR.Cookie {
    fileprivate init(setCookie line: String) {
        let parts = line.split(separator: ";", omittingEmptySubsequences: false)
        let (name, value) = HAR.split(parts.first ?? "")
        self.init(name, value)
        for part in parts.dropFirst() {
            let (name, value) = HAR.split(part.drop { $0 == " " })
            switch name.lowercased() {
            case "path": path = value
            case "domain": domain = value
            case "expires": expires = HTTPDate(value, at: Date(timeIntervalSince1970: 0)).map { HARDate.text($0.date) }
            case "httponly": isHTTPOnly = true
            case "secure": isSecure = true
            default: break
            }
        }
    }
}

extension HAR {
    fileprivate static func split(_ pair: Substring) -> (name: String, value: String) {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
    }

    /// A URL without its fragment, in which characters that are not valid in a URL are percent-encoded.
    package static func written(_ url: String) -> String {
        let bytes = url.utf8.prefix { $0 != UInt8(ascii: "#") }
        let escaped = bytes.flatMap { byte in
            switch byte {
            case 0...0x20, 0x7F..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"):
                PercentCoding.encode([byte])
            default: [byte]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    fileprivate static func percentDecoded(_ text: String) -> String {
        String(decoding: PercentCoding.decode(Array(text.utf8)[...]), as: UTF8.self)
    }

    /// The text that stands for content, and its encoding.
    ///
    /// Programs that read an archive transcode text with another declared charset, so only base64 keeps its bytes.
    fileprivate static func text(of content: Data, type: String) -> (text: String, encoding: String?) {
        let type = type.lowercased()
        let isUnicode = !type.contains("charset") || type.contains("utf-8") || type.contains("utf8")
        guard isUnicode, let text = String(validating: content, as: UTF8.self) else {
            return (content.base64EncodedString(), "base64")
        }
        return (text, nil)
    }
}
