import Foundation

extension Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the URL, without the secrets that ``Redaction/standard`` knows; never fields or content.
    public var description: String {
        "\(head.method) \(Redaction.standard.applied(toURL: url?.absoluteString ?? head.path ?? ""))"
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with the description and the body alone, so that `dump` shows no field.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description, "body": body.description])
    }
}

extension Response: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status and where the response came from; never fields or content.
    public var description: String {
        "\(status.code)" + (metadata.source.map { " from \($0)" } ?? "")
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with the description and the body alone, so that `dump` shows no field.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description, "body": body.description])
    }
}

extension Body: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind and the length; never the content.
    public var description: String {
        let length = length.map { "\($0) bytes" } ?? "unknown length"
        return switch storage {
        case .bytes: length
        case .file: "\(length) in a file"
        case .stream: "a stream of \(length), read \(replay)"
        }
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror without the content.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
