import Decorum

// An archive holds credentials and content as they were sent. So its description shows only its parts; its properties
// and its document have the rest.

extension HAR: CustomStringConvertible, CustomReflectable {
    /// The number of exchanges.
    public var description: String { "archive of \(entries.count) entries" }

    /// A mirror with the exchanges, as they describe themselves.
    public var customMirror: Mirror { Mirror(self, children: ["description": description, "entries": entries]) }
}

extension HAR.Page: CustomStringConvertible, CustomReflectable {
    /// The identifier; titles are often URLs.
    public var description: String { "page \(id)" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HAR.Entry: CustomStringConvertible, CustomReflectable {
    /// The request and the response, as they describe themselves.
    public var description: String { "\(request), \(response)" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HAR.Request: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, without its fragment and the secrets that `Redaction.standard` knows.
    public var description: String { "\(method) \(Redaction.described(url))" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HAR.PostData: CustomStringConvertible, CustomReflectable {
    /// The media type and the length of the text.
    public var description: String { "\(mimeType), \(text?.utf8.count ?? 0) bytes" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HAR.Parameter: CustomStringConvertible, CustomReflectable {
    /// The name.
    public var description: String { "parameter \(name)" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HAR.Response: CustomStringConvertible, CustomReflectable {
    /// The code of the status, and the content.
    public var description: String { "\(status), \(content)" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HAR.Content: CustomStringConvertible, CustomReflectable {
    /// The media type and the length.
    public var description: String { "\(mimeType), \(size ?? text?.utf8.count ?? 0) bytes" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HAR.Field: CustomStringConvertible, CustomReflectable {
    /// The name.
    public var description: String { "field \(name)" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HAR.Cookie: CustomStringConvertible, CustomReflectable {
    /// The name.
    public var description: String { "cookie \(name)" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
