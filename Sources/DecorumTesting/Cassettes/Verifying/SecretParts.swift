import Decorum
import DecorumArchive
import Foundation

/// The numbers of parts of the secrets in JSON, such as the three of a JSON Web Token (RFC 7519, section 3).
///
/// A placeholder keeps the form of its secret. One with another number of parts tells that the server has changed the kind
/// of its tokens, of which a recorded test would never learn.
enum SecretParts {
    /// The placeholders of a redacted answer that have another number of parts than those of the recorded one, as lines with
    /// a JSON path.
    static func drift(from old: Data, to new: Data) -> [String] {
        guard let old = try? JSONValue(parsing: Array(old)), let new = try? JSONValue(parsing: Array(new)) else {
            return []
        }
        var seen: Set<String> = []
        return drift(from: old, to: new, path: "$").filter { seen.insert($0).inserted }
    }

    private static func drift(from old: JSONValue, to new: JSONValue, path: String) -> [String] {
        switch (old, new) {
        case (.string(let old), .string(let new)):
            guard Pseudonym.isPseudonym(old.utf8), Pseudonym.isPseudonym(new.utf8) else { return [] }
            let counts = (Pseudonym.partCount(of: old.utf8), Pseudonym.partCount(of: new.utf8))
            guard counts.0 != counts.1 else { return [] }
            return ["\(path)  is a token of another form: had \(words(counts.0)), now has \(words(counts.1))"]
        case (.array(let old), .array(let new)):
            return zip(old, new).flatMap { drift(from: $0, to: $1, path: path + "[*]") }
        case (.object(let old), .object(let new)):
            let members = Dictionary(new.map { ($0.name, $0.value) }) { first, _ in first }
            return old.flatMap { member in
                members[member.name].map { drift(from: member.value, to: $0, path: "\(path).\(member.name)") } ?? []
            }
        default: return []
        }
    }

    private static func words(_ count: Int) -> String {
        switch count {
        case 1: "no dots"
        case 3: "three parts between dots, like a JSON Web Token"
        default: "\(count) parts between dots"
        }
    }
}
