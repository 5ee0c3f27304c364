import Foundation

extension Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the URL, without its fragment and the secrets that ``Redaction/standard`` knows; never fields or
    /// content, which ``head`` and ``body`` hold.
    public var description: String {
        let url = Redaction.described(urlText ?? head.path ?? "", covering: options.secretQueryItems)
        return "\(head.method) \(url)"
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description and the body, so that `dump` shows no field.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description, "body": body.description])
    }
}

extension BodyEvent: CustomStringConvertible, CustomReflectable {
    /// The event without content, trailer fields and the words of an error.
    public var description: String {
        switch self {
        case .chunk(let chunk): "chunk of \(chunk.count) bytes"
        case .finished(let trailers): "finished" + (trailers.map { ", \($0.count) trailer fields" } ?? "")
        case .failed(let error): "failed: \(Redaction.name(of: error))"
        case .abandoned: "abandoned"
        }
    }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension RequestOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The values of the options that cannot hold a secret, and the names of all others that are set.
    public var description: String { "options" + (facts.isEmpty ? "" : ": " + facts.joined(separator: ", ")) }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with the same content, since a fragment, a principal or a custom option may be secret.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: facts, displayStyle: .struct) }

    private var facts: [String] {
        var facts: [String] = []
        if let routeName { facts.append("route name \(Redaction.standard.applied(toText: routeName))") }
        if let idleTimeout { facts.append("idle timeout \(idleTimeout)") }
        if principal != nil { facts.append("principal") }
        if !secretFields.isEmpty {
            facts.append("secret fields " + secretFields.map(\.rawName).sorted().joined(separator: " "))
        }
        if let attemptNumber { facts.append("attempt \(attemptNumber)") }
        if fragment != nil { facts.append("fragment") }
        return facts + keyNames
    }
}

extension ResponseMetadata: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The source of the response, the number of attempts, and the URL without its fragment and the secrets that
    /// ``Redaction/standard`` knows; of other facts, only the names of those that are set.
    public var description: String { "metadata: " + facts.joined(separator: ", ") }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with the same content, since a URL, a redirection or a custom fact may hold a secret.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: facts, displayStyle: .struct) }

    private var facts: [String] {
        var facts = ["from " + (source?.description ?? "an unknown source"), "attempts \(attempts)"]
        if let url = urlText ?? url?.absoluteString { facts.append(Redaction.described(url)) }
        facts += redirects.map(\.description)
        if let redirectionRefusal { facts.append("redirection refused: \(redirectionRefusal)") }
        facts += informational.map { "informational \($0.status.code)" }
        if cacheStatus != nil { facts.append("cache status") }
        return facts + keyNames
    }
}

extension Redaction {
    /// A URL for a description: without its fragment, which is never sent and often is a secret as a whole, and without
    /// the secrets that ``standard`` knows.
    ///
    /// - Parameters:
    ///   - url: The URL, which need not be valid.
    ///   - queryItems: The names of the items whose values are secret in addition.
    /// - Returns: The URL for a description.
    public static func described(_ url: String, covering queryItems: Set<String> = []) -> String {
        let redaction = standard.covering(queryItems: queryItems)
        guard let end = url.utf8.firstIndex(of: UInt8(ascii: "#")) else { return redaction.applied(toURL: url) }
        return redaction.applied(toURL: String(url[..<end]))
    }

    /// A URL for the description of an error: without its query and its fragment, and without the secrets that
    /// ``standard`` knows.
    static func describedPath(_ url: String) -> String {
        let end = url.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        return standard.applied(toURL: end.map { String(url[..<$0]) } ?? url)
    }

    /// A sentence for the description of an error, after the one that names the server that a redirection led to.
    static func sentence(onRedirectionBy url: URL) -> String {
        "\(describedPath(url.absoluteString)) redirected the request there."
    }
}
