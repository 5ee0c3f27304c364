import Foundation

extension Cassette {
    /// Reports what the cassette knows of a test that has failed, and what its own error or expectations may not tell: the
    /// requests that the cassette failed, the differences that ``CassetteMode/verify`` has found, which file was being
    /// recorded, what a file of another tool has lost, which requests have other credentials, conditions or another media
    /// type, that other tests have recorded the file, that none of its requests came to the cassette, which requests were not
    /// sent after an answer, and which request came before one that was recorded first.
    ///
    /// `shown` are the texts of the errors that the test has shown already. `note` gets what is no failure of its own.
    package func reportFailedTest(
        shown: [String], to report: (any Error) -> Void, noting note: (String) -> Void
    ) async {
        ([noteOfFailedTest, noteOfImportLosses].compactMap(\.self) + notesOfRequests).forEach(note)
        if let failure = failure(hiddenFrom: shown) { report(failure) }
        if let drift = await driftOfFailedTest() {
            if drift.isAccepted { note("\(drift)") } else { report(drift) }
        } else if let text = noteOfBypass(shown: shown) ?? noteOfForgottenSuite {
            note(text)
        } else {
            let unsent = unsentRequests
            [noteOfUnsentRequests(unsent), noteOfOrder(besides: unsent)].compactMap(\.self).forEach(note)
        }
    }

    /// The failures of requests that no shown text tells of, as one error; nil if there are none.
    ///
    /// Code that catches errors leaves a test with its expectation alone, which does not tell why an answer was missing.
    private func failure(hiddenFrom shown: [String]) -> (any Error)? {
        let hidden = failures.filter { failure in
            // An error around it may mask more of the text, or indent it.
            let start = "\(failure)".prefix { $0 != "\n" }
            // Requests of two cassettes may fail with the same number, and a whole text names its file.
            return !shown.contains { text in
                text.contains(start) && (text.contains(file.relativePath) || !text.contains("file: "))
            }
        }
        return hidden.count > 1 ? CassetteFailuresError(file: file.relativePath, failures: hidden) : hidden.first
    }
}
