import Decorum
import HTTPTypes

/// The comparison of the URL in `Location` of a live answer with that of the recorded one (RFC 9110, section 10.2.2).
///
/// A client need not follow the URL, and then no request tells that it has changed. The origin does not count, since a test
/// may run against another server. An identifier may be another one where an earlier answer of the run has given it, and in
/// the answer to a request with an unsafe method, which may have created something.
struct LocationComparison {
    private let redactor: CassetteRedactor
    /// The rule by which the URLs of requests match, which may ignore items of the query.
    private let rule: MatchingRule

    init(of cassette: Cassette) {
        redactor = cassette.redactor
        rule = cassette.rules.matching.first { $0.subject == .url } ?? .pathAndQuery
    }

    /// The difference of a live answer to the recorded one, with the values that earlier answers of the run have given.
    ///
    /// Where the status is of another class, it tells why the field is another one.
    func drift(from recorded: Interaction, to live: Interaction, knowing values: AnswerValues) -> [String] {
        guard let old = recorded.response.flatMap({ FollowedField.location(in: $0.fields) }),
            let answer = live.response, !recorded.isOfOtherClass(in: live)
        else { return [] }
        guard let new = FollowedField.location(in: answer.fields) else {
            return [old.loss(in: answer.fields, shown: redactor.shown(url:))]
        }
        let oldURL = old.target(from: recorded.request.url) ?? old.reference
        let newURL = new.target(from: live.request.url) ?? new.reference
        let oldKey = key(oldURL)
        let isUnsafe = HTTPRequest.Method(live.request.method).map { !$0.isSafe } ?? true
        let isSame = values.versions(of: newURL).contains { url in
            let newKey = KeyTemplates.hiding(key(url), as: [oldKey])
            return oldKey == newKey
                || Self.haveSamePath(oldKey, newKey, isUnsafe: isUnsafe, isCreated: answer.status == 201)
                    && Self.haveSameQuery(oldKey, newKey, isUnsafe: isUnsafe)
        }
        guard !isSame else { return [] }
        let oldTarget = URLKey.target(of: redactor.matchable(url: oldURL))
        let newTarget = KeyTemplates.hiding(URLKey.target(of: redactor.matchable(url: newURL)), as: [oldTarget])
        return ["field `Location`  was \(URLKey.target(of: redactor.shown(url: oldURL))), is \(newTarget)"]
    }

    /// The normal form of the path and the query of a URL.
    private func key(_ url: String) -> String {
        let target = URLKey.target(of: redactor.matchable(url: url))
        return String(decoding: rule.key(RecordedRequest(method: "GET", url: "http://any" + target)), as: UTF8.self)
    }

    /// Whether two paths have the same segments, except for identifiers in the answer to an unsafe method.
    private static func haveSamePath(_ old: String, _ new: String, isUnsafe: Bool, isCreated: Bool) -> Bool {
        let paths = [old, new].map { url in
            URLNearness.address(of: url).split(separator: "/", omittingEmptySubsequences: false)
        }
        guard paths[0].count == paths[1].count else { return false }
        return zip(paths[0], paths[1]).enumerated().allSatisfy { place, segments in
            let (old, new) = segments
            guard old != new else { return true }
            guard isUnsafe, !old.isEmpty, !new.isEmpty else { return false }
            let isLast = place == paths[0].count - 1
            // The path of an item that was created ends with its identifier, of whatever form.
            if isLast, isCreated { return true }
            let areNumbers = Int(old) != nil && Int(new) != nil
            // A short word before the end, such as `v1`, may be that of a version.
            return AnswerValues.areMadeAnew(old.utf8, new.utf8) && (isLast || areNumbers || areLong(old, new))
        }
    }

    /// Whether two queries have items of the same names, and the same values except for those that a server makes anew, such
    /// as an identifier, a time or a signature.
    private static func haveSameQuery(_ old: String, _ new: String, isUnsafe: Bool) -> Bool {
        let items = [old, new].map { QueryItems($0[...]).all }
        return items[0].count == items[1].count
            && zip(items[0], items[1]).allSatisfy { old, new in
                guard old != new else { return true }
                let names = (QueryItems.name(of: old), QueryItems.name(of: new))
                let values = (old.dropFirst(names.0.count + 1), new.dropFirst(names.1.count + 1))
                return names.0 == names.1 && AnswerValues.areMadeAnew(values.0.utf8, values.1.utf8)
                    && (isUnsafe || areLong(values.0, values.1))
            }
    }

    private static func areLong(_ old: Substring, _ new: Substring) -> Bool {
        min(old.utf8.count, new.utf8.count) >= AnswerValues.longLength
    }
}
