import Testing

@testable import DecorumTesting

struct SimilarNameTests {
    @Test(arguments: [
        ("respnse", "response", true), ("reponse", "response", true), ("repsonse", "response", true),
        ("Response", "response", true), ("response", "response", false), ("request", "response", false),
        ("ur", "url", true), ("x", "url", false), ("", "url", false), ("a name that is far too long", "url", false),
    ])
    func `A misspelled name is like the one that is meant`(name: String, other: String, isMisspelled: Bool) {
        #expect(SimilarName.isMisspelled(name, for: other) == isMisspelled)
    }

    @Test(
        arguments: [
            ("feed", ["fee", "food", "feeds", "items"], "fee"), ("listOfItems", ["listOf", "create"], "listOf"),
            ("LISTS", ["lists", "list"], "lists"), ("sign", ["signIn", "signOut"], "signIn"),
            ("itemDetail", ["detail", "item", "list"], "detail"), ("detail", ["list", "itemDetail"], "itemDetail"),
            ("theKey", ["key"], nil), ("create", ["delete", "list"], nil), ("abc", ["abcdef"], nil), ("feed", [], nil),
        ] as [(String, [String], String?)])
    func `The nearest name is told, and no name that is far`(name: String, names: [String], nearest: String?) {
        #expect(SimilarName.nearest(to: name, among: names) == nearest)
        #expect(SimilarName.nearest(to: name, among: names.reversed()) == nearest)
    }
}
