import Foundation
import Synchronization

/// The files that the tests of a suite have written anew, so that tests that share a file add to it.
public final class RewritingRun: Sendable {
    private struct State {
        var originals: [String: CassetteContent] = [:]
        var written: Set<String> = []
    }

    private let state = Mutex(State())

    /// Creates a run in which no file has been written yet.
    public init() {}

    /// The content of a file when the first test opened it.
    func original(of file: URL, opened: CassetteContent) -> CassetteContent {
        state.withLock { state in
            let original = state.originals[file.path] ?? opened
            state.originals[file.path] = original
            return original
        }
    }

    /// Notes that a file is written; returns whether it was written before in this run.
    func write(_ file: URL) -> Bool {
        state.withLock { !$0.written.insert(file.path).inserted }
    }
}
