/// The decisions of one run of a cassette, as functions of values: its mode, and how its file is written.
///
/// ```
/// wanted    file when it is opened                         mode
/// once      absent, or absent when the suite began         append
/// once      present, outdated, to be recorded anew         rewrite
/// once      present, recorded by other tests alone         append
/// once      present                                        replay
/// replay, verify                    absent                 refused
/// append, rewrite                   of a format that is only read   refused
/// append, rewrite                   recorded by other tests too, without their suite   refused
/// any other                                                as wanted
///
/// mode      file when it is written                        the new file
/// append    nothing recorded                               (stays)
/// append    as it was opened, or absent                    the file and the recordings
/// rewrite   as it was opened, or absent                    the recordings
/// both      changed, or written before by this suite       the union of both
/// append    shared by the tests of a suite                 the file and the recordings, each known to its tests
/// rewrite   shared by the tests of a suite                 the recordings in place of the former ones of the test
/// ```
enum CassetteCourse {
    struct Opening: Hashable {
        let wanted: CassetteMode
        let exists: Bool
        /// Whether the file was absent when the first test of the suite opened it.
        var wasAbsent = false
        /// Whether other tests of the suite have recorded the whole file.
        var isNewTest = false
        /// Whether a recording of the test is older than the rules allow, and they ask to record it anew.
        var isOutdated = false
        /// The name of the file's format, if it is only read.
        var readOnlyFormat: String?
        /// The other tests that have recorded the file, if no suite shares it.
        var otherTests: [String] = []
    }

    struct Refusal: Error, Hashable {
        let reason: String
    }

    /// The mode of a cassette, which is never ``CassetteMode/once``.
    static func mode(for opening: Opening) throws(Refusal) -> CassetteMode {
        let mode = resolved(opening)
        switch mode {
        case .replay, .verify:
            guard opening.exists else {
                throw Refusal(
                    reason:
                        "it does not exist; run the test without `CI`, or with `CASSETTE=once`, to record it, or give "
                        + "the file of a renamed test its new name")
            }
        case .append, .rewrite:
            if let format = opening.readOnlyFormat {
                throw Refusal(reason: "it is a cassette of \(format), which is only replayed; record on another file")
            }
            guard opening.otherTests.isEmpty else {
                let names = opening.otherTests.sorted().prefix(3).joined(separator: ", ")
                throw Refusal(
                    reason:
                        "it has recordings of other tests, such as \(names); write `@Suite(.cassettes())` before their suite"
                )
            }
        case .once, .live: break
        }
        return mode
    }

    private static func resolved(_ opening: Opening) -> CassetteMode {
        guard opening.wanted == .once else { return opening.wanted }
        guard opening.exists, !opening.wasAbsent else { return .append }
        guard opening.readOnlyFormat == nil else { return .replay }
        if opening.isOutdated { return .rewrite }
        return opening.isNewTest ? .append : .replay
    }

    struct Saving: Hashable {
        /// The file, compared with the one that was opened.
        enum File: Hashable, CaseIterable {
            case unchanged
            case changed
            case absent
        }

        let mode: CassetteMode
        let file: File
        /// Whether another test of the suite has written the file before.
        var isWrittenBySuite = false
        var hasRecordings = true
        var hadInteractions = true
        var test: String?
    }

    /// The new content of a file.
    enum Merge: Hashable {
        /// The file stays as it is.
        case nothing
        /// The interactions of the file, followed by the recordings.
        case addition
        /// The recordings alone.
        case replacement
        /// Each interaction of the file and of the recordings, as often as the one that has it more often has it.
        case union
        /// The interactions of all tests, with the interactions of one test added to or replaced.
        case test(String, isReplaced: Bool)
    }

    static func merge(for saving: Saving) -> Merge {
        switch saving.mode {
        case .append where !saving.hasRecordings: return .nothing
        case .rewrite where !saving.hasRecordings && (!saving.hadInteractions || saving.isWrittenBySuite):
            return .nothing
        case .append, .rewrite: break
        case .replay, .once, .verify, .live: return .nothing
        }
        if let test = saving.test { return .test(test, isReplaced: saving.mode == .rewrite) }
        if saving.file == .changed || saving.isWrittenBySuite && saving.file != .absent { return .union }
        return saving.mode == .append ? .addition : .replacement
    }
}
