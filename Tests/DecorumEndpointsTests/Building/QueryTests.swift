import DecorumEndpoints
import DecorumTestSupport
import Foundation
import Testing

@Suite struct QueryTests {
    struct Row: Decodable, Sendable {
        let items: [[String?]]
        let text: String
        var query: Query { Query(items.map { Query.Item(($0.first ?? nil) ?? "", $0.count > 1 ? $0[1] : nil) }) }
    }

    @Test func `Numbers of each size are digits`() throws {
        struct Numbers: Encodable {
            var small: Int8 = -1
            var large = Int128.min
            var unsigned = UInt128.max
            var half: Float = 0.5
            var list: [Int128] = [1]
        }
        #expect(
            try Query(encoding: Numbers(), nesting: .flat).text
                == "small=-1&large=\(Int128.min)&unsigned=\(UInt128.max)&half=0.5&list=1")
    }

    @Test(arguments: try Fixtures.rows("endpoints/form-encoding.json", of: Row.self))
    func `Items are encoded by the URL standard`(row: Row) {
        #expect(row.query.text == row.text)
    }

    @Test(arguments: try Fixtures.rows("endpoints/form-parsing.json", of: Row.self))
    func `Text is parsed by the URL standard`(row: Row) throws {
        #expect(try Query(parsing: row.text) == row.query)
    }

    @Test func `A nil is left out, and names repeat in their order`() {
        let cursor: String? = nil
        var query: Query = ["q": "a b&c.bin", "page": 2, "cursor": cursor]
        query.append("tag", "x")
        query.append("tag", "y")
        #expect(query.text == "q=a+b%26c.bin&page=2&tag=x&tag=y")
        #expect(query["tag"] == ["x", "y"])
        query["tag"] = ["z"]
        #expect(query.text == "q=a+b%26c.bin&page=2&tag=z")
    }

    @Test func `A description has the names, and no value`() {
        let query = Query([.init("q", "s3cret"), .init("a&b\n", "s3cret"), .init("s3cret", nil)])
        var dumped = ""
        dump(query, to: &dumped)
        dump(query.items, to: &dumped)
        #expect("\(query)" == "q=…&a%26b%0A=…&…")
        #expect(!"\(query) \(String(reflecting: query)) \(query.items) \(dumped)".contains("s3cret"))
    }

    @Test func `Too many items are refused`() {
        #expect(throws: InvalidRequestError.self) {
            try Query(parsing: String(repeating: "a&", count: 101), upTo: 100)
        }
    }
}

@Suite struct QueryEncodingTests {
    struct Search: Encodable, Sendable {
        struct Range: Encodable, Sendable {
            var low = 1
            var high = 2.5
        }
        var text = "a b"
        var tags = ["x", "y"]
        var page: Int?
        var isNew = true
        var range: Range?
        var date: Date?
        var link = URL(string: "https://example.com/?a=b")
    }

    @Test func `Members are encoded in their order, without those that are nil`() throws {
        let query = try Query(encoding: Search(), nesting: .flat)
        #expect(query.text == "text=a+b&tags=x&tags=y&isNew=true&link=https%3A%2F%2Fexample.com%2F%3Fa%3Db")
    }

    @Test(arguments: [
        (NestingStyle.dotted, "tags=x&tags=y", "range.low=1&range.high=2.5"),
        (.bracketed, "tags%5B%5D=x&tags%5B%5D=y", "range%5Blow%5D=1&range%5Bhigh%5D=2.5"),
        (.bracketedKeys, "tags=x&tags=y", "range%5Blow%5D=1&range%5Bhigh%5D=2.5"),
        (.indexed, "tags%5B0%5D=x&tags%5B1%5D=y", "range%5Blow%5D=1&range%5Bhigh%5D=2.5"),
    ])
    func `A style names the values inside of others`(style: NestingStyle, tags: String, range: String) throws {
        let text = try Query(encoding: Search(range: .init(), link: nil), nesting: style).text
        #expect(text == "text=a+b&\(tags)&isNew=true&\(range)")
    }

    @Test func `A value without a name is an error that names the parameter`() {
        #expect {
            try Query(encoding: Search(range: .init()), nesting: .flat)
        } throws: { error in
            (error as? InvalidRequestError)?.reason == .invalidParameter && "\(error)".contains("“range.low”")
        }
        #expect(throws: InvalidRequestError.self) { try Query(encoding: [1, 2]) }
        #expect(throws: InvalidRequestError.self) { try Query(encoding: "text") }
    }

    @Test func `A date has the form of ISO 8601, or that of the caller`() throws {
        let value = ["date": Date(timeIntervalSince1970: 0)]
        #expect(try Query(encoding: value).text == "date=1970-01-01T00%3A00%3A00Z")
        #expect(try Query(encoding: value, date: { "\(Int($0.timeIntervalSince1970))" }).text == "date=0")
    }

    @Test func `A value inside of itself many times is refused`() {
        indirect enum Nested: Encodable {
            case end
            case more(Nested)
        }
        var value = Nested.end
        for _ in 0..<100 { value = .more(value) }
        #expect(throws: InvalidRequestError.self) { try Query(encoding: value) }
    }
}
