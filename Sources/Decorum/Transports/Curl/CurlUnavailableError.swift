#if os(Linux)
import Foundation

/// The system's libcurl is missing, too old, or does not support an option.
public struct CurlUnavailableError: DescribableError, Hashable {
    /// The reason why the library cannot be used, as an open set.
    public struct Reason: Hashable, Sendable {
        /// The name of the reason, suitable for a metric.
        public let name: String

        /// Creates a custom reason.
        ///
        /// - Parameter name: The name of the reason.
        public init(_ name: String) {
            self.name = name
        }

        /// No library is installed.
        public static let missing = Reason("missing")
        /// The library is older than 7.80.
        public static let tooOld = Reason("tooOld")
        /// The library lacks a function, or could not be initialized.
        public static let unusable = Reason("unusable")
        /// The library was built without support for an option.
        public static let unsupportedOption = Reason("unsupportedOption")
    }

    /// The reason why the library cannot be used.
    public let reason: Reason
    /// The version that was found, as in `"7.76.1"`; nil where no library was found.
    public let version: String?
    /// A sentence that says what is wrong and how to fix it.
    public let description: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: The reason why the library cannot be used.
    ///   - version: The version that was found; nil where no library was found.
    ///   - description: A sentence that says what is wrong and how to fix it.
    public init(_ reason: Reason, version: String? = nil, _ description: String) {
        self.reason = reason
        self.version = version
        self.description = description
    }
}

extension CurlUnavailableError {
    static func missing(_ names: [String]) -> Self {
        Self(
            .missing,
            "CurlConnection cannot open \(names.joined(separator: " or ")); install libcurl 7.80 or later, "
                + "or use URLSessionConnection.")
    }

    static func tooOld(_ version: String) -> Self {
        Self(
            .tooOld, version: version,
            "CurlConnection needs libcurl 7.80 or later and found \(version); use URLSessionConnection.")
    }

    static func unusable(_ version: String?) -> Self {
        Self(
            .unusable, version: version,
            "CurlConnection cannot use libcurl \(version ?? "of an unknown version"); use URLSessionConnection.")
    }

    static func unsupportedOption(_ version: String, _ name: String, _ text: String) -> Self {
        let advice = name.hasSuffix("_BLOB") ? " Pass certificates as files, or use its OpenSSL build." : ""
        return Self(
            .unsupportedOption, version: version, "libcurl \(version) refuses CURLOPT_\(name): \(text).\(advice)")
    }
}
#endif
