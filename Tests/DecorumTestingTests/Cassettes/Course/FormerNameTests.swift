import Testing

@testable import DecorumTesting

struct FormerNameTests {
    @Test(
        arguments: [
            ("EntryTests.create", ["ItemTests.create", "EntryTests.creates"], "EntryTests.creates"),
            ("EntryTests.create", ["ItemTests.create", "EntryTests.delete"], "ItemTests.create"),
            ("EntryTests.page(1.5)", ["Size(1.5)", "EntryTests.pages(1.5)"], "EntryTests.pages(1.5)"),
            ("latestNewe", ["latestNote"], "latestNote"), ("a.b", ["c.d"], nil),
            ("EntryTests.create", ["EntriesTests.creates"], "EntriesTests.creates"),
        ] as [(String, [String], String?)])
    func `A similar test of the same suite is told first`(name: String, names: [String], found: String?) {
        #expect(FormerName.similar(to: name, among: names) == found)
        #expect(FormerName.similar(to: name, among: names.reversed()) == found)
    }

    @Test(
        arguments: [
            ("NewTests.lending", ["OldTests.profile", "OldTests.lending"], "OldTests.lending"),
            ("App.NewTests.lending", ["App.OldTests.lending"], "App.OldTests.lending"),
            ("NewTests.lending", ["NewTests.profile", "lending", "App.Old.lending", "NewTests.lending"], nil),
            ("lending", ["profile"], nil), ("BCTests.a", ["XYTests.a", "BXTests.a"], "BXTests.a"),
            ("New.page(1.5)", ["Old.page(1.5)"], "Old.page(1.5)"), ("New.page(1.5)", ["New.size(1.5)"], nil),
        ] as [(String, [String], String?)])
    func `The same test in another suite is told`(name: String, names: [String], found: String?) {
        #expect(FormerName.inAnotherSuite(name, among: names) == found)
    }
}
