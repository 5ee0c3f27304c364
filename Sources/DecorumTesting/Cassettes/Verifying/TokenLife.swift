import Decorum
import DecorumArchive
import Foundation

/// The time for which an answer says that its token is valid: the member `expires_in` (RFC 6749, section 5.1), which servers
/// without OAuth spell otherwise, such as `expiresIn` or `tokenLifetime`.
///
/// It is a value, so a difference fails no test. A client asks for the next token sooner or later because of it.
enum TokenLife {
    /// A server may count the seconds since it made the token, so a time counts as another one from twice the recorded one.
    private static let factor = 2.0

    /// The units to which a server may have changed, with the factors from seconds and from milliseconds.
    private static let units = [(factor: 1000.0, name: "milliseconds"), (factor: 1.0 / 1000, name: "seconds")]

    /// The difference between two answers, with its consequence; nil if there is none.
    static func drift(from recorded: Data, to live: Data) -> String? {
        let (old, new) = (times(in: recorded), times(in: live))
        let path = old.keys.sorted().first { path in
            // A time of 0 or less may stand for a token without an end.
            guard let old = old[path], let new = new[path], min(old, new) > 0 else { return false }
            return max(old, new) >= factor * min(old, new) && old != new
        }
        guard let path, let old = old[path], let new = new[path] else { return nil }
        let unit = units.first { new == old * $0.factor }.map { ", which may be in \($0.name) now" } ?? ""
        return
            "\(path)  was \(old.formatted), is \(new.formatted)\(unit), so a client asks for a new token "
            + (new < old ? "sooner" : "later")
    }

    /// The times in content, by their JSON paths.
    private static func times(in content: Data) -> [String: Double] {
        guard let value = try? JSONValue(parsing: Array(content)) else { return [:] }
        var times: [String: Double] = [:]
        add(value, at: "$", to: &times)
        return times
    }

    /// Adds the times in an object and in the objects in it, such as `token` or `data`.
    private static func add(_ value: JSONValue, at path: String, to times: inout [String: Double]) {
        guard case .object(let members) = value else { return }
        let isOfToken = ([path] + members.map(\.name)).contains { $0.lowercased().contains("token") }
        for member in members {
            let path = "\(path).\(member.name)"
            if case .number(let digits) = member.value, isName(member.name, ofToken: isOfToken) {
                times[path] = Double(digits)
            } else {
                add(member.value, at: path, to: &times)
            }
        }
    }

    /// Whether a member has the name of such a time; others than `expires_in` have to stand beside a token, or in one.
    private static func isName(_ name: String, ofToken isOfToken: Bool) -> Bool {
        let letters = name.lowercased().filter(\.isLetter)
        let endings = ["expiresin", "expiresinseconds"] + (isOfToken ? ["lifetime", "validfor", "ttl"] : [])
        return endings.contains(where: letters.hasSuffix)
    }
}

extension Double {
    /// The number without the fraction of a whole one.
    fileprivate var formatted: String { self == rounded() && magnitude < 1e15 ? "\(Int64(self))" : "\(self)" }
}
