import DecorumEndpoints
import Testing

@Suite struct TypedFieldTests {
    @Test(arguments: [
        (#""a1""#, "a1", false), (#"W/"a1""#, "a1", true), (#""""#, "", false), (#""ü!#""#, "ü!#", false),
    ])
    func `A tag is read and written as it was`(text: String, opaque: String, isWeak: Bool) throws {
        let tag = try #require(EntityTag(field: text))
        #expect(tag.opaque == opaque)
        #expect(tag.isWeak == isWeak)
        #expect(tag.fieldText == text)
    }

    @Test(arguments: ["", "a1", "\"a", "\"", "w/\"a\"", "W/", "\"a\"b\"", "\"a b\"", "\"a\u{0}\"", "*"])
    func `Another text is no tag`(text: String) {
        #expect(EntityTag(field: text) == nil)
    }

    @Test func `The fields of an endpoint follow from types`() throws {
        let tag = try #require(EntityTag("v1"))
        let endpoint = Endpoint<String>.put("items/1").ifMatch(tag)
            .accepting("text/csv", MediaRange("text/*", quality: 0.5), MediaRange("image/*", quality: 0))
        let fields = try endpoint.request().head.headerFields
        #expect(fields[.ifMatch] == #""v1""#)
        #expect(fields[.accept] == "text/csv, text/*;q=0.5, image/*;q=0")
        #expect(try Endpoint<Void>.put("items/1").ifAbsent().request().head.headerFields[.ifNoneMatch] == "*")
    }

    @Test func `A weak tag never matches, so that it is refused`() throws {
        let tag = try #require(EntityTag("v1", isWeak: true))
        #expect(throws: InvalidRequestError.self) { try Endpoint<Void>.delete("items/1").ifMatch(tag).request() }
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
