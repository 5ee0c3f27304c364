import Foundation
import Testing

@testable import DecorumTesting

/// The table of every state in which a cassette is opened and written.
@Suite struct CassetteCourseTests {
    typealias Opening = CassetteCourse.Opening
    typealias Saving = CassetteCourse.Saving

    enum Opened: Hashable, CustomStringConvertible {
        case mode(CassetteMode)
        case refused(String)

        var description: String { "\(self)" }
    }

    private static let others = ["one", "three", "two", "zero"]

    static let openings: [(Opening, Opened)] = [
        (Opening(wanted: .once, exists: false), .mode(.append)),
        (Opening(wanted: .once, exists: true), .mode(.replay)),
        (Opening(wanted: .once, exists: true, wasAbsent: true), .mode(.append)),
        (Opening(wanted: .once, exists: false, wasAbsent: true), .mode(.append)),
        (Opening(wanted: .once, exists: true, isOutdated: true), .mode(.rewrite)),
        (Opening(wanted: .once, exists: true, wasAbsent: true, isOutdated: true), .mode(.append)),
        (Opening(wanted: .once, exists: true, readOnlyFormat: "VCR"), .mode(.replay)),
        (Opening(wanted: .once, exists: true, isOutdated: true, readOnlyFormat: "VCR"), .mode(.replay)),
        (Opening(wanted: .once, exists: true, isNewTest: true), .mode(.append)),
        (Opening(wanted: .once, exists: true, isNewTest: true, isOutdated: true), .mode(.rewrite)),
        (Opening(wanted: .once, exists: true, isNewTest: true, readOnlyFormat: "VCR"), .mode(.replay)),
        (Opening(wanted: .replay, exists: true, isNewTest: true), .mode(.replay)),
        (Opening(wanted: .verify, exists: true, isNewTest: true), .mode(.verify)),
        (Opening(wanted: .rewrite, exists: true, isNewTest: true), .mode(.rewrite)),
        (Opening(wanted: .replay, exists: true), .mode(.replay)),
        (Opening(wanted: .replay, exists: true, isOutdated: true), .mode(.replay)),
        (Opening(wanted: .replay, exists: true, wasAbsent: true), .mode(.replay)),
        (Opening(wanted: .replay, exists: false), .refused("run the test without `CI`")),
        (Opening(wanted: .verify, exists: true), .mode(.verify)),
        (Opening(wanted: .verify, exists: false), .refused("run the test without `CI`")),
        (Opening(wanted: .append, exists: true), .mode(.append)),
        (Opening(wanted: .append, exists: false), .mode(.append)),
        (Opening(wanted: .append, exists: true, isOutdated: true), .mode(.append)),
        (Opening(wanted: .append, exists: true, readOnlyFormat: "VCR"), .refused("only replayed")),
        (Opening(wanted: .rewrite, exists: true), .mode(.rewrite)),
        (Opening(wanted: .rewrite, exists: false), .mode(.rewrite)),
        (Opening(wanted: .rewrite, exists: true, readOnlyFormat: "VCR"), .refused("only replayed")),
        (Opening(wanted: .rewrite, exists: true, otherTests: others), .refused("`@Suite(.cassettes())`")),
        (Opening(wanted: .append, exists: true, otherTests: others), .refused("of other tests")),
        (Opening(wanted: .once, exists: true, isOutdated: true, otherTests: others), .refused("as one, three, two;")),
        (Opening(wanted: .once, exists: true, otherTests: others), .mode(.replay)),
        (Opening(wanted: .verify, exists: true, otherTests: others), .mode(.verify)),
        (Opening(wanted: .live, exists: true), .mode(.live)),
        (Opening(wanted: .live, exists: false), .mode(.live)),
        (Opening(wanted: .live, exists: true, readOnlyFormat: "VCR"), .mode(.live)),
    ]

    @Test(arguments: openings.indices) func `The mode follows from the state of the file`(row: Int) {
        let (opening, expected) = Self.openings[row]
        do {
            let mode = try CassetteCourse.mode(for: opening, of: "feed.json")
            #expect(expected == .mode(mode), "\(opening)")
        } catch {
            guard case .refused(let reason) = expected else {
                Issue.record("\(opening) is refused: \(error.reason)")
                return
            }
            #expect(error.reason.contains(reason))
        }
    }

    @Test func `No state leaves a cassette in the mode once`() {
        for wanted in CassetteMode.allCases {
            for bits in 0..<32 {
                let opening = Opening(
                    wanted: wanted, exists: bits & 1 > 0, wasAbsent: bits & 2 > 0, isNewTest: bits & 16 > 0,
                    isOutdated: bits & 4 > 0, readOnlyFormat: bits & 8 > 0 ? "VCR" : nil)
                let mode = try? CassetteCourse.mode(for: opening, of: "feed.json")
                #expect(mode != .once)
                // A file of another tool is never written.
                if opening.readOnlyFormat != nil, opening.exists { #expect(mode != .rewrite) }
            }
        }
    }

    static let savings: [(Saving, CassetteCourse.Merge)] = [
        (Saving(mode: .append, file: .unchanged), .addition), (Saving(mode: .append, file: .absent), .addition),
        (Saving(mode: .append, file: .changed), .union),
        (Saving(mode: .append, file: .unchanged, isWrittenBySuite: true), .union),
        (Saving(mode: .append, file: .absent, isWrittenBySuite: true), .addition),
        (Saving(mode: .append, file: .changed, hasRecordings: false), .nothing),
        (Saving(mode: .append, file: .unchanged, hasRecordings: false), .nothing),
        (Saving(mode: .rewrite, file: .unchanged), .replacement), (Saving(mode: .rewrite, file: .absent), .replacement),
        (Saving(mode: .rewrite, file: .changed), .union),
        (Saving(mode: .rewrite, file: .unchanged, isWrittenBySuite: true), .union),
        (Saving(mode: .rewrite, file: .unchanged, hasRecordings: false), .replacement),
        (Saving(mode: .rewrite, file: .unchanged, hasRecordings: false, hadInteractions: false), .nothing),
        (Saving(mode: .rewrite, file: .unchanged, isWrittenBySuite: true, hasRecordings: false), .nothing),
        (Saving(mode: .append, file: .absent, test: "one"), .test("one", isReplaced: false)),
        (Saving(mode: .append, file: .unchanged, test: "one"), .test("one", isReplaced: false)),
        (Saving(mode: .append, file: .changed, test: "one"), .test("one", isReplaced: false)),
        (
            Saving(mode: .append, file: .changed, isWrittenBySuite: true, test: "one"),
            .test("one", isReplaced: false)
        ),
        (Saving(mode: .append, file: .changed, hasRecordings: false, test: "one"), .nothing),
        (Saving(mode: .rewrite, file: .absent, test: "one"), .test("one", isReplaced: true)),
        (Saving(mode: .rewrite, file: .unchanged, test: "one"), .test("one", isReplaced: true)),
        (Saving(mode: .rewrite, file: .changed, isWrittenBySuite: true, test: "one"), .test("one", isReplaced: true)),
        (
            Saving(mode: .rewrite, file: .unchanged, hasRecordings: false, test: "one"),
            .test("one", isReplaced: true)
        ),
        (Saving(mode: .rewrite, file: .changed, isWrittenBySuite: true, hasRecordings: false, test: "one"), .nothing),
    ]

    @Test(arguments: savings.indices) func `The new file follows from the state of the old one`(row: Int) {
        let (saving, expected) = Self.savings[row]
        #expect(CassetteCourse.merge(for: saving) == expected, "\(saving)")
    }

    @Test(arguments: [CassetteMode.replay, .verify, .live, .once])
    func `A mode that does not record writes nothing`(mode: CassetteMode) {
        for file in Saving.File.allCases {
            for test in [nil, "one"] {
                #expect(CassetteCourse.merge(for: Saving(mode: mode, file: file, test: test)) == .nothing)
            }
        }
    }
}

/// The arguments of a process tell whether only some tests run.
@Suite struct FilteredRunTests {
    @Test(arguments: [
        (["x.xctest"], false), (["x.xctest", "--filter", "Feed"], true), (["x.xctest", "--skip", "Feed"], true),
        (["x.xctest", "FeedTests.FeedCase/testFeed"], true), (["x.xctest", "A.B/c,A.B/d"], true),
        (["x.xctest", "A.B"], true), (["xctest", "-XCTest", "A.B/c", "/tmp/x.xctest"], true),
        (["xctest", "-XCTest", "All", "/tmp/x.xctest"], false), (["xctest", "/tmp/a.b/x.xctest"], false),
        (["runner", "--testing-library", "swift-testing", "--test-bundle-path", "/tmp/x.xctest"], false),
        (["runner", "--event-stream-version", "6.3", "x.xctest"], false), (["x.xctest", "--parallel"], false),
    ])
    func `A filter is known by the arguments`(arguments: [String], isFiltered: Bool) {
        #expect(SharedCassettes.isFiltered(arguments) == isFiltered)
    }
}

@Suite struct CassetteModeTests {
    @Test func `The environment names a mode, and else CI decides`() throws {
        #expect(try CassetteMode.current(in: ["CASSETTE": "verify", "CI": "true"]) == .verify)
        #expect(try CassetteMode.current(in: ["CI": "true"]) == .replay)
        #expect(try CassetteMode.current(in: ["CASSETTE": "explain", "CI": "1"]) == .replay)
        #expect(try CassetteMode.current(in: ["CASSETTE": "explain"]) == .replay)
        #expect(try CassetteMode.current(in: ["CI": "false"]) == .once)
        #expect(try CassetteMode.current(in: [:]) == .once)
    }

    @Test func `A mode that does not exist is told with the modes that there are`() {
        let error = #expect(throws: CassetteModeError.self) { try CassetteMode.current(in: ["CASSETTE": "playback"]) }
        #expect(error?.description.hasPrefix(#"CASSETTE is "playback", which is not a mode; "#) == true)
        for mode in CassetteMode.allCases {
            #expect(error?.description.contains(mode.rawValue) == true)
        }
    }
}
