/// A failed exchange of one run that the other run does not have, with the requests that only repeat its request.
///
/// A server may fail for a moment, or refuse a token that another run still uses. The client then sends the request again, and
/// neither the test nor the API has changed.
struct TransientFailure {
    /// The place of the failed exchange in its run.
    let place: Int
    /// The places of the requests that repeat its request, at least one.
    let repeats: [Int]
    /// The places of the requests that were sent in between, such as that for a new token.
    let others: [Int]
    /// The place of the repeat that was answered otherwise than by such a failure; nil if there is none.
    let answered: Int?

    /// The places of all requests that follow from the failure.
    var consequences: [Int] { repeats + others }
}

extension TransientFailure {
    /// The words for a recorded failure that the server does not have now; `name` gives the words for a recorded request, and
    /// `line` its line.
    func words(
        forRecorded failed: Interaction, name: (Int) -> String, line: (Int) -> Int?
    ) -> String {
        let lines = repeats.compactMap(line).map { "\($0)" }.joined(separator: ", ")
        let places = lines.isEmpty ? "" : " (line\(repeats.count == 1 ? "" : "s") \(lines))"
        guard !failed.isRefused else {
            let repeated =
                repeats.count == 1
                ? "the repeated request\(places) was" : "\(repeats.count) repeated requests\(places) were"
            return
                "the recording holds a refusal of credentials (\(failed.failureName)), and the server accepts them now, so "
                + "\(repeated) not sent" + (others.isEmpty ? "" : ", and neither was \(names(name))")
                + "; look whether the server is meant to accept them"
        }
        let retries = repeats.count == 1 ? "retry\(places) was" : "\(repeats.count) retries\(places) were"
        return
            "the recording holds a failure (\(failed.failureName)) that the server does not have now, so its \(retries) not sent"
    }

    /// The words for a failure of the server that the recording does not have; `name` gives the words for a request of the run.
    func words(forLive failed: Interaction, name: (Int) -> String) -> String {
        let between = others.isEmpty ? "" : " after \(names(name))"
        guard answered != nil else {
            let count = repeats.count == 1 ? "once more" : "\(repeats.count) times more"
            let result = failed.isRefused ? "refused" : "not answered well"
            return "the client has sent it \(count)\(between), and it was \(result) again"
        }
        guard !failed.isRefused else {
            return
                "the server has refused the credentials (\(failed.failureName)), and the recording has no such refusal; the "
                + "client has sent the request again\(between), and it was accepted"
        }
        let count = repeats.count == 1 ? "" : "\(repeats.count) times "
        let event = failed.response?.status == 429 ? "asked to wait" : "failed"
        return
            "the server has \(event) \(count)(\(failed.failureName)), and the recording has no such failure; the client has sent "
            + "the request again, and it was answered"
    }

    private func names(_ name: (Int) -> String) -> String {
        let shown = others.prefix(3).map(name).joined(separator: " and ")
        return others.count > 3 ? "\(shown) and \(others.count - 3) more" : shown
    }
}
