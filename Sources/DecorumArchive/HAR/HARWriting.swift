import Foundation

extension HAR {
    /// The archive as a tree.
    public var json: JSONValue {
        var log = Members()
        log.add("version", version.isEmpty ? "1.2" : version)
        log.add("creator", creator.json)
        log.add("browser", browser?.json)
        if !pages.isEmpty { log.add("pages", .array(pages.map(\.json))) }
        log.add("entries", .array(entries.map(\.json)))
        log.add("comment", comment)
        log.list += custom
        return .object([JSONValue.Member("log", .object(log.list))])
    }
}

/// The members of an object under construction; a value that is nil is left out.
private struct Members {
    var list: [JSONValue.Member] = []

    mutating func add(_ name: String, _ value: JSONValue?) {
        if let value { list.append(JSONValue.Member(name, value)) }
    }

    mutating func add(_ name: String, _ text: String?) {
        add(name, text.map(JSONValue.string))
    }

    mutating func add(_ name: String, _ number: Int?) {
        add(name, number.map { JSONValue.number(String($0)) })
    }

    mutating func add(_ name: String, _ number: Double) {
        let whole = Int(exactly: number).map { String($0) }
        add(name, JSONValue.number(number.isFinite ? whole ?? "\(number)" : "-1"))
    }

    mutating func add(_ name: String, _ date: Date?) {
        add(name, HARDate.text(date ?? Date(timeIntervalSince1970: 0)))
    }

    mutating func add(_ name: String, _ value: Bool?) {
        add(name, value.map(JSONValue.bool))
    }
}

extension HAR.Creator {
    fileprivate var json: JSONValue {
        var members = Members()
        members.add("name", name)
        members.add("version", version)
        members.add("comment", comment)
        return .object(members.list)
    }
}

extension HAR.Page {
    fileprivate var json: JSONValue {
        var timings = Members()
        timings.add("onContentLoad", onContentLoad ?? -1)
        timings.add("onLoad", onLoad ?? -1)
        var members = Members()
        members.add("startedDateTime", startedAt)
        members.add("id", id)
        members.add("title", title)
        members.add("pageTimings", .object(timings.list))
        return .object(members.list + custom)
    }
}

extension HAR.Entry {
    fileprivate var json: JSONValue {
        var members = Members()
        members.add("pageref", pageref)
        members.add("startedDateTime", startedAt)
        // The format wants a number that is not negative.
        members.add("time", max(0, time))
        members.add("request", request.json)
        members.add("response", response.json)
        members.add("cache", cache)
        members.add("timings", timings.json)
        members.add("serverIPAddress", serverIPAddress)
        members.add("connection", connection)
        members.add("comment", comment)
        return .object(members.list + custom)
    }
}

extension HAR.Timings {
    fileprivate var json: JSONValue {
        var members = Members()
        let parts = [("blocked", blocked), ("dns", dns), ("connect", connect)]
        for (name, value) in parts { members.add(name, value) }
        // These three are not optional, and so cannot be -1.
        for (name, value) in [("send", send), ("wait", wait), ("receive", receive)] { members.add(name, max(0, value)) }
        members.add("ssl", ssl)
        return .object(members.list)
    }
}

extension HAR.Request {
    fileprivate var json: JSONValue {
        var members = Members()
        members.add("method", method)
        members.add("url", url)
        members.add("httpVersion", httpVersion)
        members.add("cookies", .array(cookies.map(\.json)))
        members.add("headers", .array(headers.map(\.json)))
        members.add("queryString", .array(queryString.map(\.json)))
        members.add("postData", postData?.json)
        members.add("headersSize", max(-1, headersSize))
        members.add("bodySize", max(-1, bodySize))
        return .object(members.list + custom)
    }
}

extension HAR.PostData {
    fileprivate var json: JSONValue {
        var members = Members()
        members.add("mimeType", mimeType)
        // A valid archive has either of the two.
        let text = text ?? value.map { String(decoding: $0.document(), as: UTF8.self) }
        if text != nil || params.isEmpty {
            members.add("text", text ?? "")
        } else {
            members.add("params", .array(params.map(\.json)))
        }
        // The draft of HAR 1.3 has this name, and tools read it in 1.2 as well.
        members.add("encoding", encoding)
        members.add("_file", file)
        return .object(members.list + custom)
    }
}

extension HAR.Parameter {
    fileprivate var json: JSONValue {
        var members = Members()
        members.add("name", name)
        members.add("value", value)
        members.add("fileName", fileName)
        members.add("contentType", contentType)
        members.add("encoding", encoding)
        return .object(members.list)
    }
}

extension HAR.Response {
    fileprivate var json: JSONValue {
        var members = Members()
        members.add("status", max(0, status))
        members.add("statusText", statusText)
        members.add("httpVersion", httpVersion)
        members.add("cookies", .array(cookies.map(\.json)))
        members.add("headers", .array(headers.map(\.json)))
        members.add("content", content.json)
        members.add("redirectURL", redirectURL)
        members.add("headersSize", max(-1, headersSize))
        members.add("bodySize", max(-1, bodySize))
        members.add("_error", failure)
        return .object(members.list + custom)
    }
}

extension HAR.Content {
    fileprivate var json: JSONValue {
        var members = Members()
        members.add("size", max(0, size ?? 0))
        members.add("compression", compression)
        members.add("mimeType", mimeType)
        members.add("text", text)
        members.add("encoding", encoding)
        members.add("_file", file)
        members.add("comment", comment)
        return .object(members.list + custom)
    }
}

extension HAR.Field {
    fileprivate var json: JSONValue {
        .object([JSONValue.Member("name", .string(name)), JSONValue.Member("value", .string(value))])
    }
}

extension HAR.Cookie {
    fileprivate var json: JSONValue {
        var members = Members()
        members.add("name", name)
        members.add("value", value)
        members.add("path", path)
        members.add("domain", domain)
        // An empty date is not one, and null is not a string.
        members.add("expires", expires.flatMap { $0.isEmpty ? nil : $0 })
        members.add("httpOnly", isHTTPOnly)
        members.add("secure", isSecure)
        return .object(members.list)
    }
}
