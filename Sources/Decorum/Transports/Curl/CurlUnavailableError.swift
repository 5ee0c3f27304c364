#if os(Linux)
/// The machine's libcurl is missing, too old, or cannot do what was asked for.
public struct CurlUnavailableError: Error, Hashable, Sendable {
    /// What is wrong with the library, as an open set.
    public struct Reason: Hashable, Sendable {
        /// The name of the reason, fit for a metric.
        public let name: String

        /// Creates a reason of your own.
        ///
        /// - Parameter name: The name of the reason.
        public init(_ name: String) {
            self.name = name
        }

        /// There is no library to open.
        public static let missing = Reason("missing")
        /// The library is older than 7.80.
        public static let tooOld = Reason("tooOld")
        /// The library lacks a function, or could not be initialized.
        public static let unusable = Reason("unusable")
        /// The library was built without what an option needs.
        public static let unsupportedOption = Reason("unsupportedOption")
    }

    /// What is wrong.
    public let reason: Reason
    /// The version that was found, as in `"7.76.1"`; nil where there is none.
    public let version: String?
    /// What is wrong and how to mend it, in a sentence.
    public let description: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: What is wrong.
    ///   - version: The version that was found.
    ///   - description: A sentence that says how to mend it.
    public init(_ reason: Reason, version: String? = nil, _ description: String) {
        self.reason = reason
        self.version = version
        self.description = description
    }
}

extension CurlUnavailableError: CustomStringConvertible {
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
