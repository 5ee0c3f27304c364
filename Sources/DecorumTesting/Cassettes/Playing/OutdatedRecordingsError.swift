public import Decorum
import Foundation

/// A test has played recordings that are older than the rules allow.
///
/// See ``CassetteRules/Expiry``.
public struct OutdatedRecordingsError: Error, Hashable, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The day of each recording, with the method and the URL, redacted.
    public let recordings: [String]
    /// How to fix the cassette.
    let advice: String
}

extension OutdatedRecordingsError: DescribableError {
    /// Their number, their days and requests, and how to record them anew.
    public var description: String {
        "Of the cassette \(file), \(recordings.count) recording\(recordings.count == 1 ? " is" : "s are") older than the rules "
            + "allow:\(listed(recordings))\n"
            + "fix: \(advice); or raise `rules.expiry`"
    }
}

extension Cassette {
    /// Throws if recordings were played that are older than the rules allow.
    func checkAge() throws {
        let outdated = outdated
        guard !outdated.isEmpty else { return }
        let scanner = SecretScanner(rules)
        throw OutdatedRecordingsError(
            file: file.relativePath,
            recordings: try outdated.map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                let day = content.recordedAt(ordinal).map { RecordedDay($0).description } ?? ""
                return scanner.masked("\(day)  \(request.method) \(request.url)")
            },
            advice: adviceToRecord(or: "`CASSETTE=rewrite` records it anew"))
    }
}
