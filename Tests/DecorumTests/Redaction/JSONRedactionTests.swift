import Decorum
import DecorumArchive
import DecorumTestSupport
import Foundation
import Testing

@Suite struct JSONRedactionTests {
    private func redacted(_ json: String, by redaction: Redaction = .standard) -> String {
        String(decoding: redaction.applied(to: Data(json.utf8), mediaType: "application/json"), as: UTF8.self)
    }

    private func redacted(_ json: String, at patterns: JSONPattern...) -> String {
        redacted(json, by: Redaction(jsonPaths: Set(patterns), placeholder: "-"))
    }

    @Test(arguments: [
        (#"{"password":"s3cret","a":1}"#, #"{"password":"REDACTED","a":1}"#),
        (#" { "a" : [ { "Access_Token" : 12.5e3 } ] } "#, #" { "a" : [ { "Access_Token" : "REDACTED" } ] } "#),
        (#"{"token":{"a":["s3cret",{}]},"b":null}"#, #"{"token":"REDACTED","b":null}"#),
        (#"{"token":[],"b":true}"#, #"{"token":"REDACTED","b":true}"#),
        (#"{"token":null,"secret":false}"#, #"{"token":"REDACTED","secret":"REDACTED"}"#),
        (#"{"pass\u0077ord":"s3cret"}"#, #"{"pass\u0077ord":"REDACTED"}"#),
        (#"{"\u0050ASSWORD":"s3\"cret\\"}"#, #"{"\u0050ASSWORD":"REDACTED"}"#),
        (#"{"db.password":"s3cret"}"#, #"{"db.password":"REDACTED"}"#),
        (#"{"token":"a"}{"token":"b"}"#, #"{"token":"REDACTED"}{"token":"REDACTED"}"#),
        (#"{"u":"https:\/\/me:s3cret@a.example\/?sig=s3cret"}"#, #"{"u":"https://REDACTED@a.example/?sig=REDACTED"}"#),
        (#"{"u":"see https://a.example/?token=s3cret now"}"#, #"{"u":"see https://a.example/?token=REDACTED now"}"#),
        (#"{"body":"{\"password\":\"s3cret\",\"a\":1}"}"#, #"{"body":"{\"password\":\"REDACTED\",\"a\":1}"}"#),
        ("\u{FEFF}{\"token\":1}", "\u{FEFF}{\"token\":\"REDACTED\"}"),
        (#"["a/b","c?d","[not json]","{","\ud83d\ude00"]"#, #"["a/b","c?d","[not json]","{","\ud83d\ude00"]"#),
        ("12", "12"), ("\"x\"", "\"x\""), ("", ""), (" ", " "), ("{}", "{}"), ("[[],{}]", "[[],{}]"),
    ])
    func `Values of listed names are replaced and all other bytes stay`(json: String, expected: String) {
        #expect(redacted(json) == expected)
        #expect(redacted(expected) == expected)
    }

    @Test(arguments: [
        ("user.token", #"{"user":{"token":1,"x":2},"token":3}"#, #"{"user":{"token":"-","x":2},"token":3}"#),
        ("$.user.token", #"{"user":{"token":1}}"#, #"{"user":{"token":"-"}}"#),
        ("items.*.s", #"{"items":[{"s":1},{"t":2,"s":3}]}"#, #"{"items":[{"s":"-"},{"t":2,"s":"-"}]}"#),
        ("items.*.s", #"{"items":{"a":{"s":1}}}"#, #"{"items":{"a":{"s":"-"}}}"#),
        ("items.s", #"{"items":[{"s":1},[{"s":2}]]}"#, #"{"items":[{"s":"-"},[{"s":"-"}]]}"#),
        ("**.s", #"{"s":1,"a":[{"b":{"s":2}}]}"#, #"{"s":"-","a":[{"b":{"s":"-"}}]}"#),
        ("a.**.s", #"{"s":1,"a":{"s":2,"b":{"c":{"s":3}}}}"#, #"{"s":1,"a":{"s":"-","b":{"c":{"s":"-"}}}}"#),
        ("a.**", #"{"a":{"b":1},"c":2}"#, #"{"a":"-","c":2}"#),
        ("**.a.*.b", #"{"x":{"a":{"a":{"b":1}}}}"#, #"{"x":{"a":{"a":{"b":"-"}}}}"#),
        ("k.1", #"{"k":["a","b","c"]}"#, #"{"k":["a","-","c"]}"#),
        ("*", #"{"a":1,"b":[2]}"#, #"{"a":"-","b":"-"}"#),
        (#"a\.b"#, #"{"a.b":1,"a":{"b":2}}"#, #"{"a.b":"-","a":{"b":2}}"#),
        (#"\*"#, #"{"*":1,"a":2}"#, #"{"*":"-","a":2}"#),
        (#"\$.a"#, #"{"$":{"a":1},"a":2}"#, #"{"$":{"a":"-"},"a":2}"#),
        ("user[a]", #"{"user[a]":1,"user":{"a":2}}"#, #"{"user[a]":"-","user":{"a":2}}"#),
        ("", #"{"a":1}"#, #""-""#),
        ("A_b", #"{"aB":1}"#, #"{"aB":"-"}"#),
    ])
    func `A pattern finds its places`(pattern: String, json: String, expected: String) {
        #expect(redacted(json, at: JSONPattern(pattern)) == expected)
    }

    @Test(arguments: [
        (#"{"a":1,"token":"s3c"#, #"{"a":1,"token":REDACTED"#),
        (#"{"a":1,"tok"#, #"{"a":1,REDACTED"#),
        (#"{"a":"s3c"#, #"{"a":REDACTED"#),
        (#"{"token":{"a":["s3cret""#, #"{"token":REDACTED"#),
        (#"{"a":1,}"#, #"{"a":1,REDACTED"#),
        (#"{'password':'s3cret'}"#, #"{REDACTED"#),
        (#"{password:"s3cret"}"#, #"{REDACTED"#),
        (#"{"a" "s3cret"}"#, #"{"a" REDACTED"#),
        (#"{"a":\#u{0}"s3cret"}"#, #"{"a":REDACTED"#),
        (#"{"p\assword":"s3cret"}"#, #"{REDACTED"#),
        (#"{"pass\u007":"s3cret"}"#, #"{REDACTED"#),
        (#"{"token":"x"]"s3cret""#, #"{"token":"REDACTED"REDACTED"#),
        (#"{"token":x,"b":"s3cret"}"#, #"{"token":REDACTED"#),
        (#"[1 2 "s3cret"]"#, #"[1 REDACTED"#),
        (#"// c\#n{"password":"s3cret"}"#, "REDACTED"),
        (#"<token>s3cret</token>"#, "REDACTED"),
        ("{\"a\":NaN,\"token\":1}", "{\"a\":REDACTED"),
    ])
    func `Everything from the first invalid token on is hidden`(json: String, expected: String) {
        #expect(redacted(json) == expected)
    }

    @Test func `Nesting beyond the limit is not shown`() {
        let deep = String(repeating: "[", count: 100_000) + "\"s3cret\"" + String(repeating: "]", count: 100_000)
        #expect(!redacted(deep).contains("s3cret"))
        #expect(redacted(deep).hasPrefix("[[["))

        var nested = #"{"password":"s3cret"}"#
        for _ in 0..<6 {
            nested = #"{"a":\#(String(decoding: (try? JSONEncoder().encode(nested)) ?? Data(), as: UTF8.self))}"#
        }
        #expect(nested.contains("s3cret"))
        #expect(!redacted(nested).contains("s3cret"))
    }

    @Test func `A placeholder is escaped`() {
        var redaction = Redaction.standard
        redaction.placeholder = "\"\\\n"
        #expect(redacted(#"{"token":1}"#, by: redaction) == #"{"token":"\"\\\n"}"#)
    }

    @Test func `A pattern with many levels finds nested values`() {
        let pattern = JSONPattern(repeatElement("a", count: 100).joined(separator: "."))
        let json = String(repeating: #"{"a":"#, count: 100) + "1" + String(repeating: "}", count: 100)
        #expect(redacted(json, at: pattern).filter { $0 == "a" }.count == 60)
    }

    @Test func `A planted secret never survives in valid JSON`() throws {
        let generator = SeededGenerator(seed: 11)
        let keys = ["password", "Access-Token", "pass\u{0077}ord", "api_key", "secret"]
        for _ in 0..<500 {
            let value = Self.value(depth: 5, keys: keys, generator: generator)
            let data = try JSONSerialization.data(withJSONObject: [value, ["token": "s3cret"]], options: [])
            let output = Redaction.standard.applied(to: data, mediaType: "application/vnd.x+json; charset=utf-8")
            #expect(!String(decoding: output, as: UTF8.self).contains("s3cret"))
            _ = try JSONSerialization.jsonObject(with: output)
        }
    }

    private static func value(depth: Int, keys: [String], generator: SeededGenerator) -> Any {
        switch generator.next() % (depth > 0 ? 6 : 3) {
        case 0: return Double(generator.next() % 1000) / 8
        case 1: return "a/\"\\\u{1F600}{[\n\(generator.next())"
        case 2: return NSNull()
        case 3: return (0..<generator.next() % 4).map { _ in value(depth: depth - 1, keys: keys, generator: generator) }
        default:
            var object: [String: Any] = [:]
            for index in 0..<generator.next() % 4 {
                object["k\(index)\""] = value(depth: depth - 1, keys: keys, generator: generator)
            }
            let key = keys[Int(generator.next() % UInt64(keys.count))]
            object[key] = generator.next() % 2 == 0 ? ["s3cret", ["x": "s3cret"]] : "s3cret"
            return object
        }
    }

    @Test func `Random and mutated bytes neither crash nor leak`() {
        let generator = SeededGenerator(seed: 3)
        let seed = Array(#"{"a":[1,{"b":"c\u0041"}],"password":"s3cret","d":"x"}"#.utf8)
        for _ in 0..<3_000 {
            let cut = seed.prefix(Int(generator.next() % UInt64(seed.count + 1)))
            let output = Redaction.standard.applied(to: Data(cut), mediaType: "application/json")
            #expect(!String(decoding: output, as: UTF8.self).contains("s3"))

            var mutated = seed
            mutated[Int(generator.next() % UInt64(seed.count))] = UInt8(truncatingIfNeeded: generator.next())
            _ = Redaction.standard.applied(to: Data(mutated), mediaType: "application/json")

            let noise = (0..<generator.next() % 64).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            _ = Redaction.standard.applied(to: Data(noise), mediaType: nil)
        }
    }
}
