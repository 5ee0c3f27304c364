import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

struct Item: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

extension Endpoint where Value == Item {
    static func item(_ id: Int) -> Self { .get("items/{id}", ["id": id]) }
}

@Suite struct EndpointTests {
    @Test func `An endpoint makes an ordinary request`() throws {
        var endpoint = Endpoint<Item>.post(
            "items/{id}?fixed=1", ["id": "a b"], query: ["q": "x&y"], content: .json(["a": 1]))
        endpoint.fields[.acceptLanguage] = "de"
        endpoint.options.idleTimeout = .seconds(5)
        let request = try endpoint.request()
        #expect(request.head.method == .post)
        #expect(request.head.path == "items/a%20b?fixed=1&q=x%26y")
        #expect(
            request.head.headerFields == [
                .acceptLanguage: "de", .accept: "application/json", .contentType: "application/json",
            ])
        #expect(request.body.bytes == Data(#"{"a":1}"#.utf8))
        #expect(request.options.routeName == "items/{id}?fixed=1")
        #expect(request.options.idleTimeout == .seconds(5))
    }

    @Test func `A URL is sent as it is`() throws {
        let request = try Endpoint<Void>.delete("https://example.com/items/{id}", ["id": "/"]).request()
        #expect(request.url?.absoluteString == "https://example.com/items/%2F")
        #expect(request.options.routeName == "https://example.com/items/{id}")
    }

    @Test func `The content has its media type`() throws {
        struct Draft: Encodable, Sendable { var name = "a b" }
        let contents: [(RequestContent, String?, String)] = [
            (.text("x"), "text/plain; charset=utf-8", "x"),
            (.form(["a": "b c"]), "application/x-www-form-urlencoded", "a=b+c"),
            (.form(encoding: Draft()), "application/x-www-form-urlencoded", "name=a+b"),
            (
                .form(encoding: ["at": ["b": Date(timeIntervalSince1970: 7)]], nesting: .dotted) {
                    "\(Int($0.timeIntervalSince1970))"
                }, "application/x-www-form-urlencoded", "at.b=7"
            ),
            (.json(Draft()), "application/json", #"{"name":"a b"}"#),
            (.body(Body(Data("y".utf8)).typed(as: "image/png")), "image/png", "y"),
            (.empty, nil, ""),
        ]
        for (content, mediaType, text) in contents {
            let request = try Endpoint<Void>.put("x", content: content).request()
            #expect(request.head.headerFields[.contentType] == mediaType)
            #expect(request.body.bytes == Data(text.utf8))
        }
    }

    @Test func `A file that is missing is an error of the call`() async throws {
        let stub = StubConnection()
        let endpoint = Endpoint<Void>.put("x", content: .file(URL(filePath: "/nowhere/at/all")))
        await #expect(throws: CocoaError.self) { try await stub.value(of: endpoint) }
        #expect(stub.requests.isEmpty)
    }

    @Test func `A parameter at fault is named before anything is sent`() async throws {
        let stub = StubConnection()
        await #expect(throws: InvalidRequestError.self) {
            try await stub.value(of: Endpoint<Item>.get("items/{id}", ["name": 1]))
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `A description has neither a parameter nor a field nor a value`() {
        var endpoint = Endpoint<Item>.post(
            "items/{id}", ["id": "s3cret"], query: ["key": "s3cret"], content: .text("s3cret"))
        endpoint.fields[.acceptLanguage] = "s3cret"
        let value = Versioned(
            Item(id: 1, name: "s3cret"), version: Version(entityTag: "\"s3cret\""), source: endpoint)
        var dumped = ""
        dump(endpoint, to: &dumped)
        dump(value, to: &dumped)
        #expect("\(endpoint)" == "POST items/{id} with a value of Item")
        #expect("\(value)" == "a versioned value of Item from POST items/{id}")
        #expect(!"\(dumped) \(String(reflecting: endpoint)) \(String(reflecting: value))".contains("s3cret"))
    }

    @Test func `No part of a call or an answer shows its values`() {
        var parser = EventStreamParser()
        parser.append(Data("data: s3cret".utf8))
        let parts: [Any] = [
            ["key": "s3cret"] as PathParameters, PathSegments("s3cret/s3cret"), parser, NextPage.url("/s3cret"),
            NextPage.query("cursor", "s3cret"),
        ]
        for part in parts {
            var dumped = ""
            dump(part, to: &dumped)
            #expect(!"\(part) \(String(reflecting: part)) \(dumped)".contains("s3cret"))
        }
        #expect("\(parts[0])" == "key" && "\(parts[4])" == "the query item cursor")
    }
}

@Suite struct TypedFieldTests {
    @Test func `The fields of an endpoint follow from its modifiers`() throws {
        let endpoint = Endpoint<String>.put("items/1").ifMatch(#""v1""#).accepting("text/csv", "text/*;q=0.5")
        let fields = try endpoint.request().head.headerFields
        #expect(fields[.ifMatch] == #""v1""#)
        #expect(fields[.accept] == "text/csv, text/*;q=0.5")
        #expect(try Endpoint<Void>.put("items/1").ifAbsent().request().head.headerFields[.ifNoneMatch] == "*")
    }

    @Test func `A weak tag never matches, so that it is refused`() {
        let endpoint = Endpoint<Void>.delete("items/1").ifMatch(#"W/"v1""#)
        #expect(throws: InvalidRequestError.self) { try endpoint.request() }
    }

    @Test(arguments: [HTTPField.Name.authorization, .proxyAuthorization, .cookie])
    func `An endpoint cannot set credentials`(name: HTTPField.Name) {
        var endpoint = Endpoint<Void>.delete("items/1")
        endpoint.fields[name] = "secret-value"
        #expect {
            try endpoint.request()
        } throws: { error in
            (error as? InvalidRequestError)?.reason == .invalidField && !"\(error)".contains("secret-value")
        }
    }
}
