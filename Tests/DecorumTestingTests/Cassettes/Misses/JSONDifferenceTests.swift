import Decorum
import DecorumArchive
import Testing

@testable import DecorumTesting

@Suite struct JSONDifferenceTests {
    func differences(_ recorded: String, _ live: String, limit: Int = 8) throws -> [String] {
        let values = try [recorded, live].map { try JSONValue(parsing: Array($0.utf8)) }
        let scanner = SecretScanner(environment: [:])
        return JSONDifference.all(values[0], values[1], limit: limit).map { $0.line(masking: scanner) }
    }

    @Test(
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, []), ("[1,2]", "[1,2.0]", []),
            (
                #"{"a":{"b":[1,2]}}"#, #"{"a":{"b":[1,3,4]}}"#,
                ["$.a.b[1]  2  →  3", "$.a.b[2]  the recording has none  →  4"]
            ),
            (
                #"{"a":1}"#, #"{"c":true}"#,
                ["$.a  1  →  this request has none", "$.c  the recording has none  →  true"]
            ),
            (#"{"a":1,"a":2}"#, #"{"a":1,"a":3}"#, ["$.a  2  →  3"]),
            (#"{"a":[]}"#, #"{"a":{}}"#, ["$.a  [0 elements]  →  {0 members}"]),
        ] as [(String, String, [String])])
    func `Differences are listed by their paths`(recorded: String, live: String, expected: [String]) throws {
        #expect(try differences(recorded, live) == expected)
    }

    @Test(
        arguments: [
            (
                #"{"password":"__secret__"}"#, #"{"password":"__secret__","pass2":"mango-42"}"#,
                ["$.pass2  the recording has none  →  a text, not shown, as a secret stands beside it"]
            ),
            (
                #"{"user":{"pin":"__secret__"}}"#,
                #"{"user":{"pin":"__secret__"},"code":4821,"new":true,"tags":["a"]}"#,
                [
                    "$.code  the recording has none  →  a number, not shown, as a secret stands beside it",
                    "$.new  the recording has none  →  true", "$.tags  the recording has none  →  [1 elements]",
                ]
            ),
            (
                #"{"a":{}}"#, #"{"a":{"token":"__secret__","more":"mango-42"}}"#,
                [
                    "$.a.token  the recording has none  →  a text, not shown, as a secret stands beside it",
                    "$.a.more  the recording has none  →  a text, not shown, as a secret stands beside it",
                ]
            ),
            (
                #"["__secret__"]"#, #"["__secret__","mango-42"]"#,
                ["$[1]  the recording has none  →  a text, not shown, as a secret stands beside it"]
            ),
            (
                #"{"login":{"token":"__secret__"}}"#, #"{"login":"mango-42"}"#,
                [
                    "$.login  {1 members}  →  another text of 8 characters, not shown, as the recording has a secret there"
                ]
            ),
            // A value in another object, and one that had a recorded value without a secret, are known.
            (
                #"{"auth":{"token":"__secret__"},"item":{"page":1}}"#,
                #"{"auth":{"token":"__secret__"},"item":{"page":2,"lang":"de"}}"#,
                ["$.item.page  1  →  2", "$.item.lang  the recording has none  →  \"de\""]
            ),
        ] as [(String, String, [String])])
    func `A new value beside a secret is told by its kind`(
        recorded: String, live: String, expected: [String]
    ) throws {
        #expect(try differences(recorded, live) == expected)
    }

    @Test func `No more differences are listed than requested`() throws {
        #expect(try differences("[1,2,3,4]", "[5,6,7,8]", limit: 2) == ["$[0]  1  →  5", "$[1]  2  →  6"])
    }

    @Test func `A wide object is compared member by member`() throws {
        // Each name sought among all the others, this takes minutes.
        func object(_ last: Int) -> String {
            "{" + (0..<30_000).map { "\"k\($0)\":0" }.joined(separator: ",") + ",\"last\":\(last)}"
        }
        #expect(try differences(object(1), object(2)) == ["$.last  1  →  2"])
    }
}
