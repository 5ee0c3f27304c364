import Decorum
import DecorumArchive
import Foundation

/// The values of the environment variables whose names are like those of secrets.
struct EnvironmentSecrets: Sendable {
    private static let marks = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"]
    /// Endings of names whose value only leads to a secret, or describes one.
    private static let harmlessEndings = [
        "_FILE", "_PATH", "_DIR", "_SOCK", "_URL", "_URI", "_ENDPOINT", "_HOST", "_TTL", "_TIMEOUT", "_TYPE", "_NAME",
    ]
    private static let commonWords: Set<String> = [
        "changeme", "default", "disabled", "enabled", "example", "optional", "password", "required", "undefined",
    ]

    /// The length from which a word is searched for; a shorter one occurs by chance.
    private static let wordLength = 8

    private var search = NeedleSearch()
    private var names: [String] = []

    init(_ environment: [String: String], allowed: Set<[UInt8]>) {
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where Self.isSecret(name, value) {
            let secret = Array(value.utf8)
            guard !allowed.contains(secret) else { continue }
            for spelling in SecretSpelling.all(of: secret) + Self.base64Spellings(of: secret) {
                search.insert(spelling, tag: names.count)
            }
            names.append(name)
        }
    }

    func hits(in bytes: [UInt8]) -> [SecretHit] {
        search.matches(in: bytes).map { SecretHit(kind: .environment, range: $0.range, variable: names[$0.tag]) }
    }

    private static func isSecret(_ name: String, _ value: String) -> Bool {
        let name = name.uppercased()
        guard marks.contains(where: name.contains), !harmlessEndings.contains(where: name.hasSuffix) else {
            return false
        }
        let bytes = Array(value.utf8)
        // The number under a name such as `TOKENS_PER_DAY` counts something.
        let isCount = !marks.contains(where: name.hasSuffix) && bytes.count < 12 && bytes.allSatisfy(\.isDigit)
        return bytes.count >= NeedleSearch.minimumLength && !isCount && Set(bytes).count > 2
            && (bytes.count >= wordLength || !PlainWord.isPlain(bytes))
            && !commonWords.contains(value.lowercased()) && !Pseudonym.isPseudonym(bytes)
    }

    /// The Base64 characters that depend on the secret alone, for each of the three offsets at which it can start.
    private static func base64Spellings(of secret: [UInt8]) -> [[UInt8]] {
        (0..<3).flatMap { offset -> [[UInt8]] in
            let padded = Array(repeating: 0 as UInt8, count: offset) + secret
            let first = (offset * 8 + 5) / 6
            let end = padded.count * 8 / 6
            let standard = Array(Data(padded).base64EncodedData()[first..<end])
            let urlSafe = standard.map { byte in
                byte == UInt8(ascii: "+") ? UInt8(ascii: "-") : byte == UInt8(ascii: "/") ? UInt8(ascii: "_") : byte
            }
            return standard == urlSafe ? [standard] : [standard, urlSafe]
        }
    }
}
