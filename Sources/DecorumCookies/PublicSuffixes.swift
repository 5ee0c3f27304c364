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

    /// The list of the system, or the conservative rule without one.
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

    init(_ rules: PublicSuffixRules) {
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
        self.init(rules)
    }

    /// Whether a host, in lower case, is such a domain itself; a host below it is not.
    func isPublicSuffix(_ host: String) -> Bool { contains(host) }

    /// The longest suffix of a name that a server may set cookies for; the host itself without one, and for an address.
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

/// The rules of the public suffix list.
struct PublicSuffixRules: Sendable {
    private var plain: Set<String> = []
    private var wildcards: Set<String> = []
    private var exceptions: Set<String> = []

    init(_ list: String) {
        for line in list.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            // A rule ends at the first blank.
            guard let text = line.split(whereSeparator: \.isBlank).first.flatMap({ String($0) }),
                !text.hasPrefix("//")
            else { continue }
            if text.hasPrefix("!") {
                exceptions.insert(Punycode.host(String(text.dropFirst())))
            } else if text.hasPrefix("*.") {
                wildcards.insert(Punycode.host(String(text.dropFirst(2))))
            } else {
                plain.insert(Punycode.host(text))
            }
        }
    }

    var count: Int { plain.count + wildcards.count + exceptions.count }

    /// Whether a host is a suffix itself; a name without a dot is one, also where no rule names it.
    func contains(_ host: String) -> Bool {
        guard let dot = host.firstIndex(of: ".") else { return true }
        if plain.contains(host) { return true }
        return wildcards.contains(String(host[host.index(after: dot)...])) && !exceptions.contains(host)
    }
}

/// The form of international names that is sent (RFC 3492), for the rules of the list, which are in lower case.
enum Punycode {
    static func host(_ name: String) -> String {
        let name = name.lowercased()
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return name }
        return name.split(separator: ".", omittingEmptySubsequences: false).map { label in
            label.utf8.allSatisfy { $0 < 0x80 } ? String(label) : "xn--" + encode(label)
        }.joined(separator: ".")
    }

    private static func encode(_ label: Substring) -> String {
        let scalars = label.precomposedStringWithCanonicalMapping.unicodeScalars.map { Int($0.value) }
        let basic = scalars.filter { $0 < 0x80 }
        var output = basic.map { UInt8($0) }
        if !output.isEmpty { output.append(UInt8(ascii: "-")) }
        var (code, delta, bias, handled) = (0x80, 0, 72, basic.count)
        while handled < scalars.count {
            guard let next = scalars.filter({ $0 >= code }).min() else { break }
            delta += (next - code) * (handled + 1)
            code = next
            for scalar in scalars {
                if scalar < code { delta += 1 }
                guard scalar == code else { continue }
                output += digits(of: delta, bias: bias)
                bias = adapted(delta, count: handled + 1, isFirst: handled == basic.count)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// A number with digits of variable weight (RFC 3492, section 6.3).
    private static func digits(of number: Int, bias: Int) -> [UInt8] {
        var (rest, base, output) = (number, 36, [UInt8]())
        while true {
            let threshold = min(max(base - bias, 1), 26)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            base += 36
        }
        return output + [digit(rest)]
    }

    private static func digit(_ value: Int) -> UInt8 {
        value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "0") + UInt8(value - 26)
    }

    private static func adapted(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var steps = 0
        while delta > 455 {
            delta /= 35
            steps += 36
        }
        return steps + 36 * delta / (delta + 38)
    }
}
