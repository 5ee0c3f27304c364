import Decorum
import Foundation
import HTTPTypes
import Synchronization

// Requests are matched without their credentials, since tokens differ between two runs. So a recording also answers a
// request that has lost them.

extension Cassette {
    /// Notes the credentials of a request that a recording has answered.
    func noteCredentials(of request: RecordedRequest, at ordinal: Int) {
        guard mode == .replay, let value = request.fields[.authorization] else { return }
        state.withLock { state in
            if state.credentials[ordinal] == nil { state.credentials[ordinal] = value }
        }
    }

    /// The note for requests that were recorded with `Authorization` and are replayed without it, or with a placeholder that no
    /// recorded request has there, such as that of a refresh token in place of an access token; nil if there are none.
    ///
    /// A placeholder that another recorded request has there tells nothing: a token may be refreshed a little earlier or later
    /// in each run.
    var noteOfCredentials: String? {
        let (answered, sent) = state.withLock { ($0.answered, $0.credentials) }
        guard mode == .replay, !answered.isEmpty else { return nil }
        var recorded: [Int: String] = [:]
        for ordinal in answered.keys {
            recorded[ordinal] = (try? content.request(at: ordinal))?.fields[.authorization]
        }
        guard !recorded.isEmpty else { return nil }
        let known = recorded.values.reduce(into: Set<[UInt8]>()) { $0.formUnion(placeholders(in: $1)) }
        let lines = recorded.keys.sorted().compactMap { ordinal -> String? in
            guard let value = sent[ordinal] else { return line(of: ordinal, "was recorded with it, and has none now") }
            guard placeholders(in: value).isSubset(of: known) else {
                return line(of: ordinal, "has credentials that no recorded request has there")
            }
            return nil
        }
        guard !lines.isEmpty else { return nil }
        let subject = lines.count == 1 ? "1 request differs" : "\(lines.count) requests differ"
        return
            "\(subject) from the recording of \(file.relativePath) in `Authorization`. Requests are matched without "
            + "credentials, so the recorded answer may not be the one that the server gives now:\(listed(lines))"
    }

    private func placeholders(in value: String) -> Set<[UInt8]> {
        RecordedRequest(method: "", url: "", fields: [.authorization: value])
            .placeholders(named: content.placeholders != nil)
    }

    private func line(of ordinal: Int, _ difference: String) -> String {
        let place = content.line(of: ordinal).map { " (line \($0))" } ?? ""
        guard let target = (try? content.target(at: ordinal)).map(redactor.matchable) else { return difference + place }
        return SecretScanner(rules).masked("\(target.method) \(target.url)") + "\(place) \(difference)"
    }
}
