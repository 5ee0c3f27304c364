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
    /// A request that has a `User-Agent` keeps it, as it keeps its own fields of the ``ClientInformation/device``. Place it outside of everything that reads the fields.
    ///
    /// - Parameter client: The program and the system.
    /// - Returns: A connection that adds the field.
    public func identifyingClient(as client: ClientInformation) -> some Connection {
        FieldsConnection(
            base: self, name: "identifyingClient", settings: [Layer.Setting("as", client.userAgent)],
            source: .fixed(client.fields),
            // It tells users apart as well as a cookie does, so a redirection to another origin drops it, and no log shows it.
            furtherSecretFields: Set([HTTPField.Name(DeviceInformation.vendorField)].compactMap(\.self))
                .intersection(client.fields.map(\.name)))
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
    /// The device, in fields of its own; nil if it is not sent.
    public let device: DeviceInformation?
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
    ///   - device: The device, for a server that reads the fields of ``DeviceInformation``; by default, it is not sent.
    /// - Throws: ``InvalidRequestError`` for characters that the field cannot hold.
    public init(
        name: String, version: String? = nil, system: String = currentSystem, details: [String] = [],
        device: DeviceInformation? = nil
    ) throws(InvalidRequestError) {
        let comments = [system] + details
        // A `token` (RFC 9110, section 5.6.2) is spelled like the name of a field.
        let areTokens = [name, version].allSatisfy { $0.map { HTTPField.Name($0) != nil } ?? true }
        let values = device?.values.map(\.value) ?? []
        let isPrintable = (comments + values).allSatisfy { $0.allUTF8 { (0x20...0x7E).contains($0) } }
        guard areTokens, isPrintable, values.allSatisfy(HTTPField.isValidValue) else {
            throw InvalidRequestError(
                .invalidField,
                "The name and version of a client have letters, digits and marks such as - and . only, as MyApp, and its "
                    + "details have printable ASCII characters only.")
        }

        (self.name, self.version, self.system) = (name, version, system)
        (self.details, self.device) = (details, device)
        let product = version.map { "\(name)/\($0)" } ?? name
        let comment = comments.filter { !$0.isEmpty }.map(\.commentText).joined(separator: "; ")
        userAgent = comment.isEmpty ? product : "\(product) (\(comment))"
    }
}

extension ClientInformation {
    fileprivate var fields: HTTPFields {
        var fields: HTTPFields = [.userAgent: userAgent]
        for (name, value) in device?.values ?? [] {
            if let name = HTTPField.Name(name), !value.isEmpty { fields[name] = value }
        }
        return fields
    }
}

/// The device that a program runs on, in the fields `X-Client-OS`, `X-Client-OS-Version`, `X-Client-Device-Type` and
/// `X-Client-Device-VendorId`.
///
/// Send it only to a server that needs it: it makes a user easier to identify. The identifier is dropped where another origin
/// redirects to, and no log shows it.
public struct DeviceInformation: Sendable, Hashable {
    /// The name of the system, as in `iOS`; empty when it is not sent.
    public let system: String
    /// The version of the system, as in `18.2.0`; empty when it is not sent.
    public let version: String
    /// The type of the device, as in `iPhone17,1` or `x86_64`; empty when it is not sent.
    public let type: String
    /// The identifier that the system gives to the apps of one vendor, which the app asks for; nil when it is not sent.
    public let vendorIdentifier: String?

    /// Creates device information.
    ///
    /// - Parameters:
    ///   - system: The name of the system; nil for the name of this one.
    ///   - version: Its version; nil for the version of this one.
    ///   - type: The type of the device; nil for the machine that the system names.
    ///   - vendorIdentifier: The identifier for the vendor, such as `UIDevice.current.identifierForVendor`.
    public init(
        system: String? = nil, version: String? = nil, type: String? = nil, vendorIdentifier: String? = nil
    ) {
        self.system = system ?? ClientInformation.currentName
        self.version = version ?? ClientInformation.currentVersion
        (self.type, self.vendorIdentifier) = (type ?? Self.currentType, vendorIdentifier)
    }

    fileprivate var values: [(name: String, value: String)] {
        [
            ("X-Client-OS", system), ("X-Client-OS-Version", version), ("X-Client-Device-Type", type),
            (Self.vendorField, vendorIdentifier ?? ""),
        ]
    }

    fileprivate static let vendorField = "X-Client-Device-VendorId"

    /// The machine that the system names, as in `iPhone17,1` or `x86_64`; empty if it names none.
    private static let currentType: String = {
        var names = utsname()
        guard unsafe uname(&names) == 0 else { return "" }
        return unsafe withUnsafeBytes(of: &names.machine) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
    }()
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
    public static let currentSystem = "\(currentName) \(currentVersion)"

    /// The version of the system that this program runs on, as in `6.8.0`.
    fileprivate static let currentVersion: String = {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        return "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
    }()

    #if os(macOS)
    fileprivate static let currentName = "macOS"
    #elseif os(iOS)
    fileprivate static let currentName = "iOS"
    #elseif os(tvOS)
    fileprivate static let currentName = "tvOS"
    #elseif os(watchOS)
    fileprivate static let currentName = "watchOS"
    #elseif os(visionOS)
    fileprivate static let currentName = "visionOS"
    #elseif os(Android)
    fileprivate static let currentName = "Android"
    #elseif os(Windows)
    fileprivate static let currentName = "Windows"
    #else
    fileprivate static let currentName = "Linux"
    #endif
}

/// The version of this package.
public enum PackageVersion: Sendable {
    /// The version, by the rules of semantic versioning.
    public static let current = "0.1.0"
}
