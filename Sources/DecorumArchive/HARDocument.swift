public import Decorum
package import Foundation

extension HAR {
    /// Reads an archive from a tree, which may come from JSON or YAML.
    package init(_ root: JSONValue) throws(HARFormatError) {
        guard case .object = root else { throw HARFormatError(reason: "an object is expected", path: "$") }
        guard let log = root["log"], case .object(let members) = log else {
            throw HARFormatError(reason: "there is no log", path: "$.log")
        }
        guard let elements = log["entries"]?.array else {
            throw HARFormatError(reason: "there is no list of entries", path: "$.log.entries")
        }
        self.init(creator: log["creator"].flatMap(Creator.init) ?? Creator(name: "", version: ""))
        version = log.text("version") ?? version
        comment = log.text("comment")
        browser = log["browser"].flatMap { $0.members == nil ? nil : $0 }
        pages = log["pages"]?.array.map { .array($0.filter { $0.members != nil }) }
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
    /// Reads pairs in all known forms: a value may be a list, which stands for as many pairs; a pair may be a list of
    /// its name and its value; an object may stand for all pairs.
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
    /// The members that tools may add to the format.
    fileprivate func custom(except names: [String]) -> Self {
        filter { $0.name.hasPrefix("_") && !names.contains($0.name) }
    }
}

extension JSONValue {
    /// The text of a string, or of a number or Boolean as it is written.
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

/// A document that cannot be read as an archive.
public struct HARFormatError: DescribableError, Hashable {
    /// The problem, as a clause.
    public let reason: String
    /// The JSON path of the problem; nil when the document is not JSON.
    public let path: String?
    /// The line of the syntax error; nil when the document is JSON.
    public let line: Int?

    package init(reason: String, path: String?, line: Int? = nil) {
        self.reason = reason
        self.path = path
        self.line = line
    }

    /// A sentence with the place and the reason.
    public var description: String {
        let place = [path, line.map { "line \($0)" }].compactMap(\.self).joined(separator: ", ")
        return "The HTTP archive cannot be read at \(place): \(reason)."
    }
}

/// A value of an archive, as it is written.
private protocol ArchiveValue {
    var json: JSONValue { get }
}

extension JSONValue: ArchiveValue {
    fileprivate var json: JSONValue { self }

    /// An object with the members that are not nil, and then others.
    fileprivate static func object(
        _ members: KeyValuePairs<String, (any ArchiveValue)?>, and others: [Member] = []
    ) -> JSONValue {
        .object(members.compactMap { name, value in value.map { Member(name, $0.json) } } + others)
    }
}

extension String: ArchiveValue {
    fileprivate var json: JSONValue { .string(self) }
}

extension Int: ArchiveValue {
    fileprivate var json: JSONValue { .number(String(self)) }
}

extension Double: ArchiveValue {
    fileprivate var json: JSONValue {
        .number(isFinite ? Int(exactly: self).map { String($0) } ?? "\(self)" : "-1")
    }
}

extension Bool: ArchiveValue {
    fileprivate var json: JSONValue { .bool(self) }
}

extension Array: ArchiveValue where Element: ArchiveValue {
    fileprivate var json: JSONValue { .array(map(\.json)) }
}

extension HAR: ArchiveValue {
    /// The archive as a tree.
    package var json: JSONValue {
        let log = JSONValue.object(
            [
                "version": version.isEmpty ? "1.2" : version, "creator": creator, "browser": browser, "pages": pages,
                "entries": entries, "comment": comment,
            ], and: custom)
        return .object(["log": log])
    }
}

extension HAR.Creator: ArchiveValue {
    fileprivate var json: JSONValue { .object(["name": name, "version": version, "comment": comment]) }
}

extension HAR.Entry: ArchiveValue {
    fileprivate var json: JSONValue {
        .object(
            [
                "pageref": pageref,
                "startedDateTime": HARDate.text(startedAt ?? Date(timeIntervalSince1970: 0)),
                // The format does not allow a negative number.
                "time": max(0, time), "request": request, "response": response, "cache": cache, "timings": timings,
                "serverIPAddress": serverIPAddress, "connection": connection, "comment": comment,
            ], and: custom)
    }
}

extension HAR.Timings: ArchiveValue {
    fileprivate var json: JSONValue {
        .object([
            "blocked": blocked, "dns": dns, "connect": connect,
            // These three are not optional, so -1 is not valid.
            "send": max(0, send), "wait": max(0, wait), "receive": max(0, receive), "ssl": ssl,
        ])
    }
}

extension HAR.Request: ArchiveValue {
    fileprivate var json: JSONValue {
        .object(
            [
                "method": method, "url": url, "httpVersion": httpVersion, "cookies": cookies, "headers": headers,
                "queryString": queryString, "postData": postData, "headersSize": max(-1, headersSize),
                "bodySize": max(-1, bodySize),
            ], and: custom)
    }
}

extension HAR.PostData: ArchiveValue {
    fileprivate var json: JSONValue {
        let text = text ?? value.map { String(decoding: $0.document(), as: UTF8.self) }
        // A valid archive has either the text or the parameters.
        let hasText = text != nil || params.isEmpty
        return .object(
            [
                "mimeType": mimeType, "text": hasText ? text ?? "" : nil, "params": hasText ? nil : params,
                // The draft of HAR 1.3 defines this name, and tools read it in HAR 1.2 as well.
                "encoding": encoding, "_file": file,
            ], and: custom)
    }
}

extension HAR.Parameter: ArchiveValue {
    fileprivate var json: JSONValue {
        .object([
            "name": name, "value": value, "fileName": fileName, "contentType": contentType, "encoding": encoding,
        ])
    }
}

extension HAR.Response: ArchiveValue {
    fileprivate var json: JSONValue {
        .object(
            [
                "status": max(0, status), "statusText": statusText, "httpVersion": httpVersion, "cookies": cookies,
                "headers": headers, "content": content, "redirectURL": redirectURL,
                "headersSize": max(-1, headersSize), "bodySize": max(-1, bodySize), "_error": failure,
            ], and: custom)
    }
}

extension HAR.Content: ArchiveValue {
    fileprivate var json: JSONValue {
        .object(
            [
                "size": max(0, size ?? 0), "compression": compression, "mimeType": mimeType, "text": text,
                "encoding": encoding, "_file": file, "comment": comment,
            ], and: custom)
    }
}

extension HAR.Field: ArchiveValue {
    fileprivate var json: JSONValue { .object(["name": name, "value": value]) }
}

extension HAR.Cookie: ArchiveValue {
    fileprivate var json: JSONValue {
        .object([
            "name": name, "value": value, "path": path, "domain": domain,
            // An empty text is not a date, and null is not a string.
            "expires": expires.flatMap { $0.isEmpty ? nil : $0 }, "httpOnly": isHTTPOnly, "secure": isSecure,
        ])
    }
}

/// The dates of archives: ISO 8601, of which tools write many variants.
package enum HARDate: Sendable {
    /// Parses a date with any number of fraction digits and with any offset; without an offset, it is in UTC.
    package static func date(_ text: String) -> Date? {
        var scanner = Scanner(rest: text.utf8[...])
        guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2), scanner.skip("-"),
            let day = scanner.number(2)
        else { return nil }
        var civil = CivilDate(year: year, month: month, day: day)
        guard day >= 1, day <= civil.daysInMonth else { return nil }
        guard !scanner.rest.isEmpty else { return Date(timeIntervalSince1970: Double(civil.seconds)) }

        guard scanner.skip("T") || scanner.skip("t") || scanner.skip(" "), let hour = scanner.number(2),
            scanner.skip(":"), let minute = scanner.number(2), hour < 24, minute < 60
        else { return nil }
        civil.hour = hour
        civil.minute = minute
        if scanner.skip(":") {
            guard let second = scanner.number(2), second < 61 else { return nil }
            civil.second = second
        }
        let fraction = scanner.skip(".") || scanner.skip(",") ? scanner.fraction() : 0
        guard let offset = scanner.offset(), scanner.rest.isEmpty else { return nil }
        return Date(timeIntervalSince1970: Double(civil.seconds - Int64(offset)) + fraction)
    }

    /// Writes a date in UTC, to the millisecond.
    package static func text(_ date: Date) -> String {
        let range = -62_135_596_800_000.0...253_402_300_799_999.0
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        let count = Int64(milliseconds.isNaN ? 0 : min(max(milliseconds, range.lowerBound), range.upperBound))
        let seconds = count >= 0 ? count / 1000 : (count - 999) / 1000
        let civil = CivilDate(seconds: seconds)
        let day = "\(pad(civil.year, 4))-\(pad(civil.month, 2))-\(pad(civil.day, 2))"
        let time = "\(pad(civil.hour, 2)):\(pad(civil.minute, 2)):\(pad(civil.second, 2))"
        return "\(day)T\(time).\(pad(Int(count - seconds * 1000), 3))Z"
    }

    private static func pad(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private struct Scanner {
        var rest: Substring.UTF8View

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func number(_ width: Int) -> Int? {
            let digits = rest.prefix(width)
            guard digits.count == width, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest.removeFirst(width)
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }

        mutating func fraction() -> Double {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            rest.removeFirst(digits.count)
            return digits.reversed().reduce(0) { ($0 + Double($1 - 0x30)) / 10 }
        }

        /// The seconds ahead of UTC.
        mutating func offset() -> Int? {
            if rest.isEmpty || skip("Z") || skip("z") { return 0 }
            let sign = skip("-") ? -1 : 1
            guard sign < 0 || skip("+"), let hours = number(2) else { return nil }
            _ = skip(":")
            guard !rest.isEmpty else { return sign * hours * 3600 }
            return number(2).map { sign * (hours * 3600 + $0 * 60) }
        }
    }
}
