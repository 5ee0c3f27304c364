import Foundation
import HTTPTypes

extension Connection {
    /// Says in the `User-Agent` field which program and system a request comes from.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .identifyingClient(as: ClientInformation(name: "Reader", version: "2.1"))
    /// // User-Agent: Reader/2.1 (Linux 6.8.0)
    /// ```
    ///
    /// A request that has a `User-Agent` passes unchanged. Whoever sends the parts in fields of other names adds them
    /// with ``addingDefaultFields(_:)-(HTTPFields)``.
    ///
    /// It belongs where default fields do: outside of everything that reads the fields.
    ///
    /// See RFC 9110, section 10.1.5.
    ///
    /// - Parameter client: The program and the system.
    /// - Returns: A connection that adds the field.
    public func identifyingClient(as client: ClientInformation) -> some Connection {
        DefaultFieldsConnection(
            base: self,
            name: "identifyingClient",
            settings: [Layer.Setting("as", client.userAgent)],
            source: .fixed([.userAgent: client.userAgent])
        )
    }
}

/// A program and the system that it runs on, as a server may learn of them.
public struct ClientInformation: Sendable, Hashable {
    /// The name of the program.
    public let name: String
    /// The version of the program; nil where it is nobody's business.
    public let version: String?
    /// The system that the program runs on.
    public let system: OperatingSystem
    /// What else there is to say, each in a few words, such as a build number or a kind of device.
    public let details: [String]
    /// The value of the `User-Agent` field, as in `Reader/2.1 (Linux 6.8.0; build 77)`.
    public let userAgent: String

    /// Creates client information.
    ///
    /// - Parameters:
    ///   - name: The name of the program: letters, digits and marks such as `-` and `.`, without blanks.
    ///   - version: The version of the program, of the same characters.
    ///   - system: The system that the program runs on.
    ///   - details: What else there is to say, in printable ASCII. Tell as little as the server needs: each
    ///     detail makes one user easier to tell from others.
    /// - Throws: ``InvalidRequestError`` for characters that the field cannot hold.
    public init(
        name: String, version: String? = nil, system: OperatingSystem = .current, details: [String] = []
    ) throws(InvalidRequestError) {
        guard name.isToken, version?.isToken ?? true else { throw .invalidProduct }
        let comments = [system.description] + details
        guard comments.allSatisfy(\.isPrintableASCII) else { throw .invalidComment }

        self.name = name
        self.version = version
        self.system = system
        self.details = details
        let product = version.map { "\(name)/\($0)" } ?? name
        let comment = comments.filter { !$0.isEmpty }.map(\.commentText).joined(separator: "; ")
        userAgent = comment.isEmpty ? product : "\(product) (\(comment))"
    }
}

extension InvalidRequestError {
    fileprivate static let invalidProduct = Self(
        .invalidField,
        "The name and version of a client have letters, digits and marks such as - and . only; write MyApp for My App.")
    fileprivate static let invalidComment = Self(
        .invalidField, "The details of a client have printable ASCII characters only.")
}

extension String {
    /// Whether this is a `token` (RFC 9110, section 5.6.2), which is what the name of a field is.
    fileprivate var isToken: Bool { HTTPField.Name(self) != nil }

    fileprivate var isPrintableASCII: Bool { utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// The text within a comment, where parentheses nest and a backslash quotes (RFC 9110, section 5.6.5).
    fileprivate var commentText: String {
        var text = ""
        for character in self {
            if "()\\".contains(character) { text.append("\\") }
            text.append(character)
        }
        return text
    }
}
