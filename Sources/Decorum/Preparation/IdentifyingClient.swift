import DecorumSecrets
import Foundation
import HTTPTypes

extension Connection {
    /// Adds the `User-Agent` field, which names the program and the system.
    ///
    /// ```swift
    /// let connection = try SystemConnection()
    ///     .identifyingClient(as: ClientInformation(name: "Reader", version: "2.1"))
    /// // User-Agent: Reader/2.1 (Linux 6.8.0)
    /// ```
    ///
    /// A request that has a `User-Agent` passes unchanged. Place it outside of everything that reads the fields.
    ///
    /// - Parameter client: The program and the system.
    /// - Returns: A connection that adds the field.
    public func identifyingClient(as client: ClientInformation) -> some Connection {
        FieldsConnection(
            base: self,
            name: "identifyingClient",
            settings: [Layer.Setting("as", client.userAgent)],
            source: .fixed([.userAgent: client.userAgent])
        )
    }
}

/// A program and the system that it runs on, as they are sent to a server.
public struct ClientInformation: Sendable, Hashable {
    /// The name of the program.
    public let name: String
    /// The version of the program; nil if it is not sent.
    public let version: String?
    /// The name and the version of the system, as in `Linux 6.8.0`; empty when it is not sent.
    public let system: String
    /// Further details, each in a few words, such as a build number or a kind of device.
    public let details: [String]
    /// The value of the `User-Agent` field, as in `Reader/2.1 (Linux 6.8.0; build 77)`.
    public let userAgent: String

    /// Creates client information.
    ///
    /// - Parameters:
    ///   - name: The name of the program: letters, digits and marks such as `-` and `.`, without blanks.
    ///   - version: The version of the program, of the same characters.
    ///   - system: The system that the program runs on, in printable ASCII; by default this one, empty to leave it out.
    ///   - details: Further details, in printable ASCII. Send only as much as the server needs: each detail makes a
    ///     user easier to identify.
    /// - Throws: ``InvalidRequestError`` for characters that the field cannot hold.
    public init(
        name: String, version: String? = nil, system: String = currentSystem, details: [String] = []
    ) throws(InvalidRequestError) {
        let comments = [system] + details
        // A `token` (RFC 9110, section 5.6.2) is spelled like the name of a field.
        let areTokens = [name, version].allSatisfy { $0.map { HTTPField.Name($0) != nil } ?? true }
        guard areTokens, comments.allSatisfy({ $0.allUTF8 { (0x20...0x7E).contains($0) } }) else {
            throw InvalidRequestError(
                .invalidField,
                "The name and version of a client have letters, digits and marks such as - and . only, as MyApp, and its "
                    + "details have printable ASCII characters only.")
        }

        self.name = name
        self.version = version
        self.system = system
        self.details = details
        let product = version.map { "\(name)/\($0)" } ?? name
        let comment = comments.filter { !$0.isEmpty }.map(\.commentText).joined(separator: "; ")
        userAgent = comment.isEmpty ? product : "\(product) (\(comment))"
    }
}

extension String {
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

extension ClientInformation {
    /// The system that this program runs on, as in `Linux 6.8.0`, with the version of the kernel.
    public static let currentSystem: String = {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        return "\(currentName) \(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
    }()

    #if os(macOS)
    private static let currentName = "macOS"
    #elseif os(iOS)
    private static let currentName = "iOS"
    #elseif os(tvOS)
    private static let currentName = "tvOS"
    #elseif os(watchOS)
    private static let currentName = "watchOS"
    #elseif os(visionOS)
    private static let currentName = "visionOS"
    #elseif os(Android)
    private static let currentName = "Android"
    #elseif os(Windows)
    private static let currentName = "Windows"
    #else
    private static let currentName = "Linux"
    #endif
}

/// The version of this package.
public enum PackageVersion: Sendable {
    /// The version, by the rules of semantic versioning.
    public static let current = "0.1.0"
}
