import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The exchanges and warnings that an importer has found so far.
struct ImportDraft {
    /// The folder of the file's sidecars; nil if absent.
    let folder: URL?
    /// The archive that has the file and its sidecars; nil if absent.
    let archive: ZipArchive?
    var interactions: [Interaction] = []
    var warnings: [ImportWarning] = []
    /// Whether every exchange of the file is among the interactions.
    private(set) var isComplete = true

    init(folder: URL?, archive: ZipArchive? = nil) {
        self.folder = folder
        self.archive = archive
    }

    mutating func warn(_ kind: ImportWarning.Kind, at place: String, _ message: String) {
        warnings.append(ImportWarning(kind: kind, place: place, message: message))
    }
}

extension ImportDraft {
    /// Turns exchanges without a status into failures, and leaves out those with a status that no response can have.
    mutating func leaveOutStatuses() {
        var kept: [Interaction] = []
        for (index, var interaction) in interactions.enumerated() {
            let place = "interaction \(index + 1)"
            if let response = interaction.response, response.status <= 0 {
                interaction.failure = interaction.failure ?? failure(response.reason, at: place)
                interaction.response = nil
            }
            guard (100...999).contains(interaction.response?.status ?? 200) else {
                isComplete = false
                warn(.leftOut, at: place, "The exchange was left out, as its status is not valid for a response.")
                continue
            }
            kept.append(interaction)
        }
        interactions = kept
    }
}

extension ImportDraft {
    /// Reads fields from a mapping of names to values or lists of values, or from a list of pairs.
    mutating func fields(_ node: StoredNode?) -> HTTPFields {
        guard let node else { return [:] }
        var fields = HTTPFields()
        for (name, value) in node.members ?? [] {
            for value in value.elements ?? [value] { append(name, value, to: &fields) }
        }
        for pair in node.elements ?? [] {
            if let name = pair["name"]?.text {
                append(name, pair["value"], at: pair.place, to: &fields)
            } else if let parts = pair.elements, parts.count == 2, let name = parts[0].text {
                append(name, parts[1], to: &fields)
            }
        }
        return fields
    }

    /// Appends a field, unless its name is a pseudo field of HTTP/2.
    mutating func append(_ name: String, _ text: String, at place: String, to fields: inout HTTPFields) {
        guard !name.hasPrefix(":") else { return }
        guard let fieldName = HTTPField.Name(name) else {
            warn(.invalidField, at: place, "A field was left out, as its name is not valid in HTTP.")
            return
        }
        fields.append(HTTPField(name: fieldName, value: text))
    }

    private mutating func append(_ name: String, _ value: StoredNode, to fields: inout HTTPFields) {
        append(name, value, at: value.place, to: &fields)
    }

    private mutating func append(
        _ name: String, _ value: StoredNode?, at place: String, to fields: inout HTTPFields
    ) {
        if let elements = value?.elements {
            for element in elements { append(name, element, at: place, to: &fields) }
            return
        }
        // An object is not a value that a field can have; null means an empty value.
        guard value?.members == nil else {
            warn(.leftOut, at: place, "A field was left out, as its value is not text.")
            return
        }
        if let bytes = value?.taggedBytes {
            let text = String(validating: bytes, as: UTF8.self) ?? String(bytes.map { Character(Unicode.Scalar($0)) })
            append(name, text, at: place, to: &fields)
        } else {
            append(name, value?.text ?? "", at: place, to: &fields)
        }
    }
}

extension ImportDraft {
    /// The bytes of a scalar: base64 if a tag marks it as such, and otherwise its text.
    mutating func bytes(_ node: StoredNode) -> RecordedBody {
        guard node.isBinary else { return RecordedBody(Data((node.text ?? "").utf8)) }
        return base64(node)
    }

    /// The bytes of a scalar that should be base64; any other text was never encoded.
    mutating func base64(_ node: StoredNode) -> RecordedBody {
        let text = node.text ?? ""
        guard let bytes = StorageEncoding.base64(text) else {
            warn(.storageEncoding, at: node.place, "The body is called base64 and is not; it was read as text.")
            return RecordedBody(Data(text.utf8))
        }
        return RecordedBody(bytes)
    }

    /// The bytes of a value whose text the file does not have.
    mutating func document(_ node: StoredNode) -> RecordedBody {
        warn(.rebuiltBody, at: node.place, "The file has the JSON value of the body and not its text.")
        return RecordedBody(Data(node.value.json.document()), exactness: .reserialized)
    }

    /// The bytes of text that a tool had decoded from a charset.
    mutating func encoded(_ text: String, _ charset: Charset, named name: String, at place: String) -> RecordedBody {
        if let bytes = charset.bytes(of: text) { return RecordedBody(bytes) }
        // Text without anything beyond ASCII is the same in nearly all charsets.
        let isPlain = text.utf8.allSatisfy { $0 < 0x80 }
        if !isPlain || charset != .unknown {
            warn(.charset, at: place, "The body cannot be encoded as \(name), and was read as UTF-8.")
        }
        return RecordedBody(Data(text.utf8), exactness: isPlain ? .exact : .lossy)
    }
}

extension ImportDraft {
    /// Splits values of `Set-Cookie` that were joined.
    mutating func splittingCookies(_ fields: HTTPFields, at place: String) -> HTTPFields {
        var output = HTTPFields()
        for field in fields {
            let lines = field.name == .setCookie ? SetCookieSplitting.split(field.value) : [field.value]
            if lines.count > 1 { warn(.joinedField, at: place, "Several cookies had been joined, and were split.") }
            for line in lines { output.append(HTTPField(name: field.name, value: line)) }
        }
        return output
    }
}
