public import Decorum
import Foundation

extension HAR {
    /// Reads an archive from a tree, which may have been written as YAML.
    public init(_ root: JSONValue) throws(HARFormatError) {
        guard case .object = root else { throw HARFormatError(reason: "an object is expected", path: "$") }
        guard let log = root["log"], case .object(let members) = log else {
            throw HARFormatError(reason: "there is no log", path: "$.log")
        }
        guard let elements = log["entries"]?.array else {
            throw HARFormatError(reason: "there is no list of entries", path: "$.log.entries")
        }
        self.init(creator: log["creator"].flatMap(Creator.init) ?? Creator(name: "", version: ""))
        version = log.text("version") ?? version
        browser = log["browser"].flatMap(Creator.init)
        comment = log.text("comment")
        pages = (log["pages"]?.array ?? []).compactMap(Page.init)
        custom = members.custom(except: [])
        for (index, element) in elements.enumerated() {
            entries.append(try Entry(element, path: "$.log.entries[\(index)]"))
        }
    }
}

extension HAR.Creator {
    fileprivate init?(_ value: JSONValue) {
        guard case .object = value else { return nil }
        self.init(name: value.text("name") ?? "", version: value.text("version") ?? "")
        comment = value.text("comment")
    }
}

extension HAR.Page {
    fileprivate init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        self.init(id: value.text("id") ?? "", title: value.text("title") ?? "")
        startedAt = value.text("startedDateTime").flatMap(HARDate.date)
        onContentLoad = value["pageTimings"]?.number("onContentLoad")
        onLoad = value["pageTimings"]?.number("onLoad")
        custom = members.custom(except: [])
    }
}

extension HAR.Entry {
    fileprivate init(_ value: JSONValue, path: String) throws(HARFormatError) {
        guard case .object(let members) = value else {
            throw HARFormatError(reason: "an entry is expected", path: path)
        }
        guard let request = value["request"], case .object = request else {
            throw HARFormatError(reason: "the entry has no request", path: path + ".request")
        }
        let times = value["timings"]
        self.init(
            request: try HAR.Request(request, path: path + ".request"),
            response: HAR.Response(value["response"] ?? .null),
            startedAt: value.text("startedDateTime").flatMap(HARDate.date),
            timings: HAR.Timings(
                blocked: times?.number("blocked") ?? -1, dns: times?.number("dns") ?? -1,
                connect: times?.number("connect") ?? -1, send: times?.number("send") ?? -1,
                wait: times?.number("wait") ?? -1, receive: times?.number("receive") ?? -1,
                ssl: times?.number("ssl") ?? -1))
        time = value.number("time") ?? timings.total
        pageref = value.text("pageref")
        serverIPAddress = value.text("serverIPAddress")
        connection = value.text("connection")
        comment = value.text("comment")
        if let cache = value["cache"], cache.members != nil { self.cache = cache }
        custom = members.custom(except: [])
    }
}

extension HAR.Request {
    fileprivate init(_ value: JSONValue, path: String) throws(HARFormatError) {
        guard let url = value.text("url"), !url.isEmpty else {
            throw HARFormatError(reason: "the request has no URL", path: path + ".url")
        }
        self.init(
            method: value.text("method") ?? "GET", url: url, headers: HAR.Field.list(value["headers"]),
            postData: value["postData"].flatMap(HAR.PostData.init))
        httpVersion = value.text("httpVersion") ?? ""
        cookies = (value["cookies"]?.array ?? []).compactMap(HAR.Cookie.init)
        queryString = HAR.Field.list(value["queryString"])
        headersSize = value.integer("headersSize") ?? -1
        bodySize = value.integer("bodySize") ?? -1
        custom = value.members?.custom(except: []) ?? []
    }
}

extension HAR.PostData {
    fileprivate init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        self.init(
            mimeType: value.text("mimeType") ?? "", text: value.text("text"),
            params: (value["params"]?.array ?? []).compactMap(HAR.Parameter.init),
            encoding: value.text("encoding") ?? value.text("_encoding"))
        if text == nil { self.value = value["textJSON"] }
        file = value.text("_file")
        custom = members.custom(except: ["_encoding", "_file"])
    }
}

extension HAR.Parameter {
    fileprivate init?(_ value: JSONValue) {
        guard let name = value.text("name") else { return nil }
        self.init(name, value.text("value"))
        fileName = value.text("fileName")
        contentType = value.text("contentType")
        encoding = value.text("encoding") ?? value.text("_encoding")
    }
}

extension HAR.Response {
    fileprivate init(_ value: JSONValue) {
        self.init(
            status: value.integer("status") ?? 0, headers: HAR.Field.list(value["headers"]),
            content: HAR.Content(value["content"] ?? .null))
        statusText = value.text("statusText") ?? ""
        httpVersion = value.text("httpVersion") ?? ""
        cookies = (value["cookies"]?.array ?? []).compactMap(HAR.Cookie.init)
        redirectURL = value.text("redirectURL") ?? ""
        headersSize = value.integer("headersSize") ?? -1
        bodySize = value.integer("bodySize") ?? -1
        failure = value.text("_error") ?? value.text("_failureText")
        custom = value.members?.custom(except: ["_error", "_failureText"]) ?? []
    }
}

extension HAR.Content {
    fileprivate init(_ value: JSONValue) {
        self.init(
            mimeType: value.text("mimeType") ?? "", text: value.text("text"), encoding: value.text("encoding"))
        size = value.integer("size")
        compression = value.integer("compression")
        file = value.text("_file")
        comment = value.text("comment")
        custom = value.members?.custom(except: ["_file"]) ?? []
    }
}

extension HAR.Cookie {
    fileprivate init?(_ value: JSONValue) {
        guard let name = value.text("name") else { return nil }
        self.init(name, value.text("value") ?? "")
        path = value.text("path")
        domain = value.text("domain")
        expires = value.text("expires")
        isHTTPOnly = value.bool("httpOnly")
        isSecure = value.bool("secure")
    }
}

extension HAR.Field {
    /// Reads pairs; a value may be a list, which stands for as many pairs, a pair may be a list of its name and its
    /// value, and an object may stand for the pairs.
    fileprivate static func list(_ value: JSONValue?) -> [Self] {
        switch value {
        case .array(let elements):
            elements.flatMap { element in
                if let parts = element.array, parts.count == 2, let name = parts[0].scalarText {
                    return pairs(named: name, parts[1])
                }
                return element.text("name").map { pairs(named: $0, element["value"]) } ?? []
            }
        case .object(let members): members.flatMap { pairs(named: $0.name, $0.value) }
        default: []
        }
    }

    private static func pairs(named name: String, _ value: JSONValue?) -> [Self] {
        guard case .array(let elements) = value else { return [Self(name, value?.scalarText ?? "")] }
        return elements.map { Self(name, $0.scalarText ?? "") }
    }
}

extension [JSONValue.Member] {
    /// The members that the format leaves to tools.
    fileprivate func custom(except names: [String]) -> Self {
        filter { $0.name.hasPrefix("_") && !names.contains($0.name) }
    }
}

extension JSONValue {
    /// A string, or a number or Boolean as it is written.
    fileprivate var scalarText: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .bool(let value): value ? "true" : "false"
        case .null, .array, .object: nil
        }
    }

    fileprivate func text(_ name: String) -> String? { self[name]?.scalarText }

    fileprivate func number(_ name: String) -> Double? {
        guard let number = text(name).flatMap(Double.init), number.isFinite else { return nil }
        return number
    }

    fileprivate func integer(_ name: String) -> Int? {
        text(name).flatMap { Int($0) } ?? number(name).flatMap { Int(exactly: $0.rounded(.towardZero)) }
    }

    fileprivate func bool(_ name: String) -> Bool? {
        guard case .bool(let value) = self[name] else { return nil }
        return value
    }
}

/// Why a document is not an archive that can be read.
public struct HARFormatError: DescribableError, Hashable {
    /// What is wrong.
    public let reason: String
    /// The JSON path at which it is wrong; nil where the document is not JSON.
    public let path: String?
    /// The line on which it is not JSON; nil where it is.
    public let line: Int?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: What is wrong, as a clause.
    ///   - path: The JSON path; nil where the document is not JSON.
    ///   - line: The line; nil where the document is JSON.
    public init(reason: String, path: String?, line: Int? = nil) {
        self.reason = reason
        self.path = path
        self.line = line
    }
}

extension HARFormatError {
    /// A sentence with the place and the reason.
    public var description: String {
        let place = [path, line.map { "line \($0)" }].compactMap(\.self).joined(separator: ", ")
        return "The HTTP archive cannot be read at \(place): \(reason)."
    }
}
