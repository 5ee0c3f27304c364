import DecorumArchive
import Foundation

/// The time for which an answer says that its token is valid: the member `expires_in` (RFC 6749, section 5.1), in seconds.
///
/// It is a value, so a difference fails no test. A client asks for the next token sooner or later because of it.
enum TokenLife {
    /// A server may count the seconds since it made the token, so a time counts as another one from twice the recorded one.
    private static let factor = 2.0

    /// The difference between two answers, with its consequence; nil if there is none.
    static func drift(from recorded: Data, to live: Data) -> String? {
        guard let old = seconds(in: recorded), let new = seconds(in: live), max(old, new) >= factor * min(old, new),
            old != new
        else { return nil }
        return
            "$.expires_in  was \(old.formatted), is \(new.formatted), so a client asks for a new token "
            + (new < old ? "sooner" : "later")
    }

    private static func seconds(in content: Data) -> Double? {
        guard case .object(let members) = try? JSONValue(parsing: Array(content)) else { return nil }
        for member in members where member.name == "expires_in" {
            guard case .number(let digits) = member.value else { return nil }
            return Double(digits)
        }
        return nil
    }
}

extension Double {
    /// The number without the fraction of a whole one.
    fileprivate var formatted: String { self == rounded() && magnitude < 1e15 ? "\(Int(self))" : "\(self)" }
}
