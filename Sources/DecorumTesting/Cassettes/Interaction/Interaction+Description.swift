import Decorum

// Before it is written, an interaction holds credentials and content as they were sent. It is printed without them; its
// properties hold them.

extension Interaction: CustomStringConvertible, CustomReflectable {
    /// The request, and the response or the failure, as they describe themselves.
    public var description: String {
        ([request.description] + [response?.description, failure?.kind].compactMap { $0 }).joined(separator: ", ")
    }

    /// A mirror with the description alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension RecordedRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, without its fragment and the secrets that `Redaction.standard` knows, and the content.
    public var description: String { "\(method) \(Redaction.described(url)), \(body)" }

    /// A mirror with the description alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension RecordedResponse: CustomStringConvertible, CustomReflectable {
    /// The code of the status, without the reason phrase, and the content.
    public var description: String { "\(status), \(body)" }

    /// A mirror with the description alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension RecordedResponse.Interim: CustomStringConvertible, CustomReflectable {
    /// The code of the status.
    public var description: String { "\(status)" }

    /// A mirror with the description alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension RecordedBody: CustomStringConvertible, CustomReflectable {
    /// The length; never the content.
    public var description: String { "\(bytes.count) bytes" }

    /// A mirror with the description alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
