import DecorumTesting
import HTTPTypes
import Testing

@testable import Decorum

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
                FieldClasses.of(name).contains(.neutral)
                    && FieldClasses.of(name).contains(.telling) == telling.contains(name))
        }
        for name in telling { #expect(FieldClasses.of(name).contains(.telling), "\(name)") }
        for text in ["X-Page", "Accept-X", "Cooki", "Cookies", "A", "Pragmatic", "Rang", "X-Further-1"] {
            guard let name = HTTPField.Name(text) else { continue }
            #expect(FieldClasses.of(name).isEmpty, "\(name)")
        }
    }

    @Test func `The letter case of a name does not count`() throws {
        let name = try #require(HTTPField.Name("CACHE-control"))
        #expect(FieldClasses.of(name) == [.cacheControls, .neutral])
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
