/// Something about a file that its importer had to guess, change or leave out.
public struct ImportWarning: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a warning, as an open set.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        /// Creates a kind.
        public init(_ description: String) {
            self.description = description
        }

        /// A body is not in the encoding that the file names, and was read as text.
        public static let storageEncoding = Kind("storage encoding")
        /// A body cannot be encoded in the charset that the file names, and was read as UTF-8.
        public static let charset = Kind("charset")
        /// The file lacks a body, or a part of it.
        public static let missingBody = Kind("missing body")
        /// The tool that wrote the file had damaged a body.
        public static let damagedBody = Kind("damaged body")
        /// A text has half of a surrogate pair, which is no character.
        public static let loneSurrogate = Kind("lone surrogate")
        /// The file has the value of a body and not its text, or the parts of a form and not the form.
        public static let rebuiltBody = Kind("rebuilt body")
        /// A field's name is not valid in HTTP, and the field was left out.
        public static let invalidField = Kind("invalid field")
        /// Several values of a field had been joined, and were split where a new one seems to begin.
        public static let joinedField = Kind("joined field")
        /// A content coding cannot be undone here, or the content is not in it.
        public static let contentCoding = Kind("content coding")
        /// The file holds a name or a template in place of a value, which its own tool would replace.
        public static let placeholder = Kind("placeholder")
        /// The exchange had been redirected, and only the last answer is in the file.
        public static let redirected = Kind("redirected")
        /// A failure is described in unknown words.
        public static let failure = Kind("failure")
        /// A value was left out because a cassette has no place for it.
        public static let leftOut = Kind("left out")
    }

    /// The kind of the warning.
    public let kind: Kind
    /// The place in the file: a path, and the line if it is known.
    public let place: String
    /// The line in the file, counted from 1; nil if it is not known.
    public let line: Int?
    /// The warning, as a sentence without a secret.
    public let message: String

    /// Whether an answer that is played may differ from the one that the server gave, of which a replay warns.
    public let isLoss: Bool

    /// Creates a warning; with nil for `isLoss`, its kind decides.
    init(_ kind: Kind, at place: ImportPlace, _ message: String, isLoss: Bool? = nil) {
        self.kind = kind
        self.place = place.text
        line = place.line
        self.message = message
        // The tool wrote a placeholder on purpose, and in a request it matches any value. The value of a body and the
        // cookies are whole, and only white space, escapes and the division into fields may differ from what the server sent.
        self.isLoss = isLoss ?? ![.placeholder, .rebuiltBody, .joinedField].contains(kind)
    }

    /// The place and the message.
    public var description: String { "\(place): \(message)" }
}

/// The place of an exchange or a value in a file.
struct ImportPlace: Sendable {
    let text: String
    let line: Int?
}

extension ImportPlace {
    init(_ node: StoredNode) { self.init(text: node.place, line: node.line) }
}

/// A file of another tool cannot be imported.
public struct CassetteImportError: Error, Sendable, Hashable {
    /// The name of the file; empty in the reader of a format, which does not know it.
    public private(set) var file = ""
    /// The place of the cause: a JSON path, a line, or both; nil for the whole file.
    public let place: String?
    /// The line of the cause, counted from 1; nil if it is not known.
    public let line: Int?
    /// The cause, as a clause.
    public let reason: String

    /// Creates an error of the reader of a format.
    ///
    /// - Parameters:
    ///   - place: The place of the cause; nil for the line, or for the whole file without one.
    ///   - line: The line of the cause, counted from 1.
    ///   - reason: The cause, as a clause without a secret.
    public init(place: String? = nil, line: Int? = nil, reason: String) {
        self.place = place ?? line.map { "line \($0)" }
        self.line = line
        self.reason = reason
    }

    func of(_ file: String) -> Self {
        var error = self
        error.file = file
        return error
    }
}

extension CassetteImportError: CustomStringConvertible {
    /// A sentence with the file, the place and the cause.
    public var description: String {
        "\(file) cannot be imported" + (place.map { " (\($0))" } ?? "") + ": \(reason)."
    }
}
