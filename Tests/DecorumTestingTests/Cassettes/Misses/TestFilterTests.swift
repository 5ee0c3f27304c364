import Foundation
import Testing

@testable import DecorumTesting

/// The filter of a command that runs one test again.
@Suite struct TestFilterTests {
    @Test(arguments: [
        ("ItemTests.create", "AppTests.ItemTests/create()"), ("ItemTests.finds", "AppTests.ItemTests/finds(_:)"),
        ("Outer.Inner.finds", "AppTests.Outer/Inner/finds(_:)"),
        ("testFeed", "AppTests.FeedCase/testFeed"),
        ("FeedTests.It's read (v1.0), \"now\"", "AppTests.FeedTests/`It's read (v1.0), \"now\"`()"),
    ])
    func `It finds the test, in a shell too, and no test with a longer name`(name: String, identifier: String) throws {
        let pattern = TestFilter.pattern(for: name)
        #expect(!pattern.contains("'"))
        let regex = try Regex(pattern)
        #expect(identifier.contains(regex))
        let end = try #require(name.split(separator: ".").last)
        #expect(!identifier.replacing(end, with: end + "Empty").contains(regex))
        // A method of XCTest is known without its class.
        let isKnownBySuite = name.contains(".")
        #expect(identifier.replacing("AppTests.", with: "AppTests.Other").contains(regex) == !isKnownBySuite)
    }
}
