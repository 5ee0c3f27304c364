import Foundation

extension Cassette {
    /// The note for requests that differ from the recorded ones, with a remedy before the advice to record; nil if there are
    /// none.
    func noteOfDifferences(
        _ lines: [String], in part: String, matchedWithout fields: String, fix: String
    ) -> String? {
        guard !lines.isEmpty else { return nil }
        let advice = adviceToRecord(or: "`\(rewriteCommand)` records the test anew")
        return DifferingRequests(file: file.relativePath, part: part, fields: fields, lines: lines)
            .note(fix: "\(fix) \(advice)")
    }
}

/// The requests of a replayed test that differ from the recorded ones in a part by which they are not matched.
struct DifferingRequests {
    /// The path of the cassette.
    let file: String
    /// The words for the part, as in "the media type of the content".
    let part: String
    /// The words for the fields without which requests are matched.
    let fields: String
    /// The words for each request and its difference.
    let lines: [String]

    /// The number of the requests, and the part in which they differ.
    var subject: String {
        let requests = lines.count == 1 ? "1 request differs" : "\(lines.count) requests differ"
        return "\(requests) from the recording of \(file) in \(part)"
    }

    /// The note with the first requests and a remedy.
    func note(fix: String, upTo limit: Int = 10) -> String {
        "\(subject). Requests are matched without \(fields), so the recorded answer may not be the one that the server gives "
            + "now:\(listed(lines, upTo: limit))\nfix: \(fix)"
    }
}
