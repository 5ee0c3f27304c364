import Decorum
import HTTPTypes
import Testing

@Suite struct HeadRedactionTests {
    @Test(arguments: [
        "Authorization", "proxy-authorization", "COOKIE", "Set-Cookie", "X-API-Key", "X-Auth-Token", "X-CSRF-Token",
        "X-Amz-Security-Token", "Authentication-Info",
    ])
    func `A listed field keeps its name and has its value redacted`(name: String) throws {
        let name = try #require(HTTPField.Name(name))
        var fields: HTTPFields = [.accept: "*/*"]
        fields.append(HTTPField(name: name, value: "s3cret"))
        fields.append(HTTPField(name: name, value: "s3cret too"))

        let redacted = Redaction.standard.applied(to: fields)

        #expect(redacted[values: name] == ["REDACTED", "REDACTED"])
        #expect(redacted.map(\.name) == fields.map(\.name))
        #expect(redacted[.accept] == "*/*")
    }

    @Test(arguments: [
        ("Location", "https://me:s3cret@a.example/?token=s3cret x", "https://REDACTED@a.example/?token=REDACTED"),
        ("Content-Location", "/a?sig=s3cret", "/a?sig=REDACTED"),
        ("Referer", "https://a.example/?access_token=s3cret", "https://a.example/?access_token=REDACTED"),
        (
            "Link", "<https://a.example/?page=2&token=s3cret>; rel=\"next\", </b?key=s3cret>; rel=prev",
            "<https://a.example/?page=2&token=REDACTED>; rel=\"next\", </b?key=REDACTED>; rel=prev"
        ),
        ("Refresh", "5; url=/b?token=s3cret", "5; url=/b?token=REDACTED"),
        ("X-Original-URL", "https://me:s3cret@a.example/", "https://REDACTED@a.example/"),
    ])
    func `URLs in fields have their secrets redacted`(name: String, value: String, expected: String) throws {
        let name = try #require(HTTPField.Name(name))
        #expect(Redaction.standard.applied(to: [name: value])[name] == expected)
    }

    @Test func `Declared and never-indexed fields are replaced`() throws {
        let mine = try #require(HTTPField.Name("X-Mine"))
        let sensitive = try #require(HTTPField.Name("X-Sensitive"))
        var fields: HTTPFields = [mine: "s3cret"]
        var field = HTTPField(name: sensitive, value: "s3cret")
        field.indexingStrategy = .disallow
        fields.append(field)

        let redacted = Redaction.standard.applied(to: fields, secretFields: [mine])

        #expect(redacted.map(\.value) == ["REDACTED", "REDACTED"])
        #expect(Redaction.none.applied(to: fields, secretFields: [mine]) == fields)
    }

    @Test func `A request head has the secrets of its target and authority redacted`() throws {
        let head = HTTPRequest(
            method: .get, scheme: "https", authority: "me:s3cret@a.example:81", path: "/?token=s3cret&a=1",
            headerFields: [.authorization: "Bearer s3cret"])

        let redacted = Redaction.standard.applied(to: head)

        #expect(redacted.authority == "REDACTED@a.example:81")
        #expect(redacted.path == "/?token=REDACTED&a=1")
        #expect(redacted.headerFields[.authorization] == "REDACTED")
        #expect(redacted.scheme == "https" && redacted.method == .get)
    }
}
