import Testing

@testable import DecorumTesting

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
