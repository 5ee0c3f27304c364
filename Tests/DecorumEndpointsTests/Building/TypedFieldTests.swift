import DecorumEndpoints
import Testing

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
