public import Foundation

/// The domains under which anybody can register a name, such as `com`, `co.uk` and `github.io`.
///
/// A cookie for such a domain would go to the servers of strangers, so a jar refuses it. The Mozilla foundation keeps the
/// list of these domains (publicsuffix.org). It changes each week, so this package brings no copy: ``system`` reads the
/// one of the system, and an app may bring its own:
///
/// ```swift
/// let suffixes = try PublicSuffixes(contentsOf: list)
/// let jar = CookieJar(suffixes: suffixes)
/// ```
public struct PublicSuffixes: Sendable, CustomStringConvertible {
    /// The name of the source.
    public let description: String
    private let contains: @Sendable (String) -> Bool

    /// The list of the system, or the conservative rule where there is none.
    ///
    /// Debian's package `publicsuffix` installs the list; Apple's systems have none. It is read once, when it is needed for
    /// the first time.
    public static let system: PublicSuffixes = {
        let paths = [
            "/usr/share/publicsuffix/public_suffix_list.dat", "/usr/local/share/publicsuffix/public_suffix_list.dat",
        ]
        for path in paths {
            if let list = try? PublicSuffixes(contentsOf: URL(filePath: path)) { return list }
        }
        return .conservative
    }()

    /// A rule that needs no list: it refuses some domains that a list accepts, and accepts some that a list refuses.
    ///
    /// A suffix is each name without a dot, and each name of two parts of which the last has two letters and the first has
    /// at most three letters or is a common word, as in `co.uk`, `com.au` and `gouv.fr`. So a cookie of `www.ibm.de`
    /// for the domain `ibm.de` is refused, and domains of hosters such as `github.io` are not known.
    public static let conservative = PublicSuffixes("conservative") { host in
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1 else { return true }
        guard labels.count == 2, labels[1].utf8.count == 2 else { return false }
        return labels[0].utf8.count <= 3
            || ["gouv", "govt", "asso", "info", "name", "firm", "store"].contains(labels[0])
    }

    /// Creates a source from a function, such as one of a library.
    ///
    /// - Parameters:
    ///   - description: The name of the source.
    ///   - contains: Returns whether a host, in lower case and in its `xn--` form, is such a domain itself.
    public init(_ description: String, contains: @escaping @Sendable (_ host: String) -> Bool) {
        self.description = description
        self.contains = contains
    }

    /// Creates a source from the text of the list.
    ///
    /// - Parameter list: The text, one rule a line.
    public init(list: String) {
        let rules = PublicSuffixRules(list)
        self.init("list of \(rules.count) rules", contains: rules.contains)
    }

    /// Creates a source from a file with the list.
    ///
    /// - Parameter file: The file, of at most 8 MiB.
    /// - Throws: The error of reading; `CocoaError` for a file that is too large or has no rule.
    public init(contentsOf file: URL) throws {
        let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        guard size <= 8 << 20 else { throw CocoaError(.fileReadTooLarge) }
        let rules = PublicSuffixRules(try String(contentsOf: file, encoding: .utf8))
        guard rules.count > 0 else { throw CocoaError(.fileReadCorruptFile) }
        self.init("list of \(rules.count) rules", contains: rules.contains)
    }

    /// Returns whether a host is a domain under which anybody can register a name.
    ///
    /// - Parameter host: The host, in lower case.
    /// - Returns: Whether it is one itself; a host below one is not.
    public func isPublicSuffix(_ host: String) -> Bool { contains(host) }

    /// The longest suffix of a name that a server may set cookies for; the host where there is none, and for an address.
    func site(of origin: Origin) -> String {
        guard !origin.hasAddress else { return origin.host }
        var name = Substring(origin.host)
        // No rule has more than five parts.
        let dots = name.utf8.indices.filter { name.utf8[$0] == UInt8(ascii: ".") }
        if dots.count > 8 { name = name[name.utf8.index(after: dots[dots.count - 8])...] }
        while let dot = name.firstIndex(of: ".") {
            let parent = name[name.index(after: dot)...]
            if contains(String(parent)) { return String(name) }
            name = parent
        }
        return origin.host
    }
}
