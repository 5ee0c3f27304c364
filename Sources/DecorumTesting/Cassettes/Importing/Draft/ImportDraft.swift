import Decorum
import DecorumArchive
import Foundation
import HTTPTypes

/// The exchanges and warnings that the reader of a format has found so far.
public struct ImportDraft: Sendable {
    /// The folder of the file's sidecars; nil if absent.
    let folder: URL?
    /// The archive that has the file and its sidecars; nil if absent.
    let archive: ZipArchive?
    var budget: ImportBudget
    /// Whether the tool keeps content without its content coding, although the fields name one; false by default.
    public var hasDecodedContent = false
    /// The exchanges so far.
    public private(set) var interactions: [Interaction] = []
    /// The warnings so far.
    public private(set) var warnings: [ImportWarning] = []
    /// The place of each exchange.
    private(set) var places: [ImportPlace] = []
    /// Whether every exchange of the file is among the interactions.
    private(set) var isComplete = true

    init(folder: URL?, archive: ZipArchive? = nil, budget: ImportBudget) {
        self.folder = folder
        self.archive = archive
        self.budget = budget
    }

    /// Appends an exchange.
    ///
    /// - Parameters:
    ///   - interaction: The exchange.
    ///   - node: The value that describes it, whose place warnings name.
    public mutating func append(_ interaction: Interaction, at node: StoredNode) {
        interactions.append(interaction)
        places.append(node.location)
    }

    /// Appends an exchange of a file that is neither JSON nor YAML.
    ///
    /// - Parameters:
    ///   - interaction: The exchange.
    ///   - line: The line on which it begins, counted from 1; nil if the file has no lines.
    public mutating func append(_ interaction: Interaction, line: Int?) {
        interactions.append(interaction)
        places.append(ImportPlace(path: "interaction \(interactions.count)", line: line))
    }

    /// Warns of something that had to be guessed, changed or left out.
    ///
    /// - Parameters:
    ///   - kind: The kind of the warning.
    ///   - node: The value that it is about.
    ///   - message: The warning, as a sentence without a secret.
    ///   - isLoss: Whether an answer that is played may differ from the one that the server gave, of which a replay warns;
    ///     with nil, the default, it may, unless the kind is ``ImportWarning/Kind/placeholder``,
    ///     ``ImportWarning/Kind/rebuiltBody`` or ``ImportWarning/Kind/joinedField``.
    public mutating func warn(
        _ kind: ImportWarning.Kind, at node: StoredNode, _ message: String, isLoss: Bool? = nil
    ) {
        warnings.append(ImportWarning(kind, at: node.location, message, isLoss: isLoss))
    }

    mutating func warn(_ kind: ImportWarning.Kind, at place: ImportPlace, _ message: String) {
        warnings.append(ImportWarning(kind, at: place, message))
    }
}

extension ImportDraft {
    /// Turns exchanges without a status into failures, and leaves out those with a status that no response can have.
    mutating func leaveOutStatuses() {
        let found = zip(interactions, places)
        (interactions, places) = ([], [])
        for (var interaction, place) in found {
            if let response = interaction.response, response.status <= 0 {
                interaction.failure = interaction.failure ?? failure(response.reason, at: place)
                interaction.response = nil
            }
            guard (100...999).contains(interaction.response?.status ?? 200) else {
                isComplete = false
                warn(.leftOut, at: place, "The exchange was left out, as its status is not valid for a response.")
                continue
            }
            interactions.append(interaction)
            places.append(place)
        }
    }
}

extension ImportDraft {
    /// Returns the bytes of a scalar: base64 if a tag marks it as such, and otherwise its text.
    ///
    /// - Parameter node: The scalar.
    /// - Returns: The body; empty if the value is not a scalar.
    public mutating func bytes(_ node: StoredNode) -> RecordedBody {
        guard node.isBinary else {
            return RecordedBody(Data((node.text ?? "").utf8), exactness: node.value.hasLoneSurrogate ? .lossy : .exact)
        }
        return base64(node)
    }

    /// Returns the bytes of a scalar that should be base64; any other text was never encoded, which is warned of.
    ///
    /// - Parameter node: The scalar.
    /// - Returns: The body.
    public mutating func base64(_ node: StoredNode) -> RecordedBody {
        let text = node.text ?? ""
        guard let bytes = StorageEncoding.base64(text) else {
            warn(.storageEncoding, at: node, "The body is called base64 and is not; it was read as text.")
            return RecordedBody(Data(text.utf8))
        }
        return RecordedBody(bytes)
    }

    /// Returns the bytes of a value of which the file does not have the text, with a warning.
    ///
    /// - Parameter node: The value.
    /// - Returns: The value as JSON on one line.
    public mutating func document(_ node: StoredNode) -> RecordedBody {
        warn(.rebuiltBody, at: node, "The file has the JSON value of the body and not its text.")
        return RecordedBody(Data(node.value.json.document()), exactness: .reserialized)
    }

    /// The bytes of text that a tool had decoded from a charset.
    mutating func encoded(_ text: String, _ charset: Charset, named name: String, at node: StoredNode) -> RecordedBody {
        if let bytes = charset.bytes(of: text) { return RecordedBody(bytes) }
        // Text without anything beyond ASCII is the same in nearly all charsets.
        let isPlain = text.utf8.allSatisfy { $0 < 0x80 }
        if !isPlain || charset != .unknown {
            warn(.charset, at: node, "The body cannot be encoded as \(name), and was read as UTF-8.")
        }
        return RecordedBody(Data(text.utf8), exactness: isPlain ? .exact : .lossy)
    }
}
