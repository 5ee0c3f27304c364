import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 3986, section 6.2, and RFC 9111, section 2.
@Suite struct ResponseKeyTests {
    private func key(
        _ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:], body: Body = .empty
    ) -> ResponseKey? {
        let head = HTTPRequest(
            method: method, scheme: "https", authority: "example.com", path: "/page", headerFields: fields)
        return ResponseKey(Request(head: head, body: body))
    }

    // MARK: URI

    private func uri(_ scheme: String, _ authority: String, _ path: String) -> ResponseKey.URI? {
        ResponseKey.URI(HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path))
    }

    static let spellings: [(scheme: String, authority: String, path: String, normal: [String])] = [
        ("https", "example.com", "/", ["https", "example.com", "/"]),
        ("HTTPS", "EXAMPLE.com", "/A", ["https", "example.com", "/A"]),
        ("https", "example.com:443", "/", ["https", "example.com", "/"]),
        ("https", "example.com:", "/", ["https", "example.com", "/"]),
        ("https", "example.com:0443", "/", ["https", "example.com", "/"]),
        ("http", "example.com:80", "/", ["http", "example.com", "/"]),
        ("https", "example.com:80", "/", ["https", "example.com:80", "/"]),
        ("http", "example.com:443", "/", ["http", "example.com:443", "/"]),
        ("https", "Example.com:8443", "/", ["https", "example.com:8443", "/"]),
        ("https", "example.com:x", "/", ["https", "example.com:x", "/"]),
        ("https", "example.com:99999", "/", ["https", "example.com:99999", "/"]),
        ("https", "[2001:DB8::1]", "/", ["https", "[2001:db8::1]", "/"]),
        ("https", "[2001:db8::1]:443", "/", ["https", "[2001:db8::1]", "/"]),
        ("https", "a:b:443", "/", ["https", "a:b:443", "/"]), ("https", "[a]b:443", "/", ["https", "[a]b:443", "/"]),
        ("https", "a::", "/", ["https", "a::", "/"]), ("https", "a:B", "/", ["https", "a:B", "/"]),
        ("https", "Ann@Example.com:443", "/", ["https", "Ann@Example.com:443", "/"]),
        ("https", "example.com", "", ["https", "example.com", "/"]),
        ("https", "example.com", "?a", ["https", "example.com", "/?a"]),
        ("https", "example.com", "*", ["https", "example.com", "*"]),
        ("https", "example.com", "/%7Ejoe/%41%2d%2E%5f", ["https", "example.com", "/~joe/A-._"]),
        ("https", "example.com", "/a%2fb%c3%a9?q=%7e%2b", ["https", "example.com", "/a%2Fb%C3%A9?q=~%2B"]),
        ("https", "example.com", "/a/./b/../c", ["https", "example.com", "/a/c"]),
        ("https", "example.com", "/a/%2e%2E/c", ["https", "example.com", "/c"]),
        ("https", "example.com", "/../../a/..", ["https", "example.com", "/"]),
        ("https", "example.com", "/.well-known/x", ["https", "example.com", "/.well-known/x"]),
        ("https", "example.com", "/a?b=/../c", ["https", "example.com", "/a?b=/../c"]),
        ("https", "example.com", "/a//b", ["https", "example.com", "/a//b"]),
        ("https", "example.com", "/a%", ["https", "example.com", "/a%"]),
        ("https", "example.com", "/%%34%31", ["https", "example.com", "/%%34%31"]),
        ("https", "example.com", "/%7e%zz", ["https", "example.com", "/%7e%zz"]),
    ]

    @Test(arguments: spellings)
    func `A URI has its normal form`(scheme: String, authority: String, path: String, normal: [String]) throws {
        let uri = try #require(self.uri(scheme, authority, path))
        #expect([uri.scheme, uri.authority, uri.path] == normal)
        let same = try #require(self.uri(normal[0], normal[1], normal[2]))
        #expect(uri == same)
        #expect(uri.hashValue == same.hashValue)
    }

    @Test(arguments: [
        ("https", "example.com", "/Page"), ("https", "example.com", "/page?"), ("https", "example.com", "/page/"),
        ("https", "example.com:8443", "/page"), ("http", "example.com", "/page"), ("https", "example.org", "/page"),
        ("https", "example.com", "//page"), ("https", "example.com", "/pag%2565"),
    ])
    func `Another URI is not the same`(scheme: String, authority: String, path: String) throws {
        #expect(try #require(uri(scheme, authority, path)) != #require(uri("https", "example.com", "/page")))
    }

    @Test func `A normal form of any bytes is its own normal form`() throws {
        let generator = SeededGenerator(seed: 31)
        let alphabet = Array("%%%/./..?aZ2eE7f~-_:@[]#\u{e9}".unicodeScalars)
        let text = {
            let count = Int(generator.next() % 16)
            return (0..<count).reduce(into: "") { text, _ in
                text.unicodeScalars.append(alphabet[Int(generator.next() % UInt64(alphabet.count))])
            }
        }
        for _ in 0..<20_000 {
            let uri = ResponseKey.URI(scheme: "https", authority: text(), path: "/" + text())
            let again = ResponseKey.URI(scheme: uri.scheme, authority: uri.authority, path: uri.path)
            #expect(uri == again)
            #expect(uri.path.utf8.first == UInt8(ascii: "/"))
        }
    }

    // MARK: Fields

    @Test func `A cookie is a part of a key, but not of the key under which a cache stores`() throws {
        let stored = { (fields: HTTPFields) in
            let head = HTTPRequest(
                method: .get, scheme: "https", authority: "example.com", path: "/page", headerFields: fields)
            let telling = TellingFields(fields, declaredSecret: [], countsCookie: false)
            return try #require(ResponseKey(storing: Request(head: head), method: .get, telling))
        }
        let plain = try stored([:])
        let cookie = try stored([.cookie: "sid=joe"])
        let authorization = try stored([.authorization: "Bearer a"])

        #expect(cookie == plain)
        #expect(cookie.hashValue == plain.hashValue)
        #expect(!cookie.holdsSecret)
        #expect(authorization != plain)
        #expect(authorization.holdsSecret)
        #expect(try authorization != stored([.authorization: "Bearer b"]))
        #expect(try authorization == stored([.authorization: "Bearer a", .cookie: "a=b"]))

        let own = try #require(key(.get, [.cookie: "sid=joe"]))
        #expect(own != plain)
        #expect(own.holdsSecret)
        #expect(try own != #require(key(.get, [.cookie: "sid=ann"])))
        #expect(try plain == #require(key()))
    }

    @Test func `A set finds a key by its parts`() throws {
        var request = Request(
            head: HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/page"))
        let plain = try #require(ResponseKey(request))
        request.options.principal = Principal("ann")
        let ann = try #require(ResponseKey(request))
        let keys: Set<ResponseKey> = [plain, ann]

        #expect(plain != ann)
        #expect(keys.contains(try #require(ResponseKey(request))))
        #expect(try !keys.contains(#require(ResponseKey(request, method: .head))))
        request.options.principal = Principal("bob")
        #expect(try !keys.contains(#require(ResponseKey(request))))
    }

    // MARK: Content

    @Test func `The key of a QUERY holds its exact content and the fields that describe it`() throws {
        let json: HTTPFields = [.contentType: "application/json"]
        let plain = try #require(key(.query, json, body: "{}"))

        #expect(try plain == #require(key(.query, json, body: "{}")))
        #expect(try plain != #require(key(.query, json, body: "{ }")))
        #expect(try plain != #require(key(.query, json)))
        #expect(try plain != #require(key(.query, [.contentType: "text/plain"], body: "{}")))
        #expect(try plain != #require(key(.query, body: "{}")))
        #expect(
            try plain != #require(
                key(.query, [.contentType: "application/json", .contentEncoding: "gzip"], body: "{}")))
        #expect(plain.holdsSecret)
        #expect(try key(.query, body: Body(Data(count: 1000)))?.byteCount == #require(key(.query)).byteCount + 1000)
        #expect(key(.get, body: "a") == key(.get))
    }

    @Test func `A QUERY with content that is not in memory or too large has no key`() {
        #expect(key(.query, body: Body(Data(count: 65_536))) != nil)
        #expect(key(.query, body: Body(Data(count: 65_537))) == nil)
        #expect(key(.query, body: Body(chunks: AsyncStream { $0.finish() }, length: 0)) == nil)
    }
}

@Suite struct TellingFieldsTests {
    private func telling(
        _ fields: HTTPFields, declaredSecret: Set<HTTPField.Name> = [], countsCookie: Bool = true
    ) -> TellingFields {
        TellingFields(fields, declaredSecret: declaredSecret, countsCookie: countsCookie)
    }

    @Test func `Each name of a list is in its class, and no other name is`() {
        let telling = Redaction.standard.fields.union(ResponseKey.publicNames)
        for name in NeutralFields.list {
            #expect(
                FieldClasses.table.classes(of: name).contains(.neutral)
                    && FieldClasses.table.classes(of: name).contains(.telling) == telling.contains(name))
        }
        for name in telling { #expect(FieldClasses.table.classes(of: name).contains(.telling), "\(name)") }
        for text in ["X-Page", "Accept-X", "Cooki", "Cookies", "A", "Pragmatic", "Rang", "X-Further-1"] {
            guard let name = HTTPField.Name(text) else { continue }
            #expect(FieldClasses.table.classes(of: name).isEmpty, "\(name)")
        }
    }

    @Test func `The letter case of a name does not count`() throws {
        let name = try #require(HTTPField.Name("CACHE-control"))
        #expect(FieldClasses.table.classes(of: name) == [.cacheControls, .neutral])
    }

    @Test(
        arguments: [
            ([.range: "bytes=0-9"], true, false), ([.cookie: "a=b"], false, true), ([.accept: "*/*"], false, false),
            ([.cookie: "a=b", .pragma: "no-cache"], true, true), ([:], false, false),
        ] as [(HTTPFields, Bool, Bool)])
    func `Fields for a cache are found`(fields: HTTPFields, hasCacheFields: Bool, hasCookie: Bool) {
        let telling = telling(fields)
        #expect(telling.hasCacheFields == hasCacheFields)
        #expect(telling.hasCookie == hasCookie)
    }

    @Test func `Credentials are named, declared, marked, or known by their value`() throws {
        let page = try #require(HTTPField.Name("X-Page"))
        let token = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
        let json = #"{"password":"s3cret"}"#
        var marked = HTTPField(name: page, value: "1")
        marked.indexingStrategy = .disallow

        #expect(telling([.authorization: "a"]).credentials.map(\.name) == [.authorization])
        #expect(telling([page: "1"], declaredSecret: [page]).credentials.map(\.name) == [page])
        #expect(telling(HTTPFields([marked])).credentials == [marked])
        #expect(telling([page: token]).credentials.map(\.value) == [token])
        #expect(telling([page: json]).credentials.map(\.value) == [json])
        #expect(telling([page: "the value of a field", .accept: "*/*"]).credentials.isEmpty)
    }

    @Test func `A cookie counts only where it is to count`() {
        let fields: HTTPFields = [.cookie: "sid=joe", .authorization: "a"]
        #expect(telling(fields).credentials.map(\.name) == [.cookie, .authorization])
        #expect(telling(fields, countsCookie: false).credentials.map(\.name) == [.authorization])
    }
}
