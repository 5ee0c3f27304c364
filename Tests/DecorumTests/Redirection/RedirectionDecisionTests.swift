import DecorumTesting
import Foundation
import Testing

@testable import Decorum

/// RFC 9110, section 15.4, and the Fetch standard, section 4.4 ("HTTP-redirect fetch").
@Suite struct RedirectionDecisionTests {
    @Test(arguments: [
        (301, "GET", "GET", true), (301, "HEAD", "HEAD", true), (301, "POST", "GET", false), (301, "PUT", "PUT", true),
        (301, "QUERY", "QUERY", true), (301, "DELETE", "DELETE", true), (301, "PATCH", "PATCH", true),
        (302, "GET", "GET", true), (302, "HEAD", "HEAD", true), (302, "POST", "GET", false), (302, "PUT", "PUT", true),
        (302, "QUERY", "QUERY", true), (302, "DELETE", "DELETE", true), (302, "OPTIONS", "OPTIONS", true),
        (303, "GET", "GET", false), (303, "HEAD", "HEAD", false), (303, "POST", "GET", false),
        (303, "PUT", "GET", false), (303, "QUERY", "GET", false), (303, "DELETE", "GET", false),
        (307, "GET", "GET", true), (307, "HEAD", "HEAD", true), (307, "POST", "POST", true), (307, "PUT", "PUT", true),
        (307, "QUERY", "QUERY", true), (308, "POST", "POST", true), (308, "PATCH", "PATCH", true),
        (308, "QUERY", "QUERY", true), (308, "DELETE", "DELETE", true), (302, "post", "post", true),
    ])
    func `The method and the body follow the table`(status: Int, old: String, new: String, keepsBody: Bool) throws {
        let request = try Request(
            try #require(.init(old)), "https://a.example/1",
            fields: [.contentType: "text/plain", .contentLanguage: "en", .accept: "*/*"], body: "content")

        let (next, redirection) = try follow(request, status: status, to: "/2")

        #expect(next.head.method.rawValue == new && redirection.method.rawValue == new)
        #expect(next.body == (keepsBody ? "content" : .empty))
        #expect(next.head.headerFields == (keepsBody ? request.head.headerFields : [.accept: "*/*"]))
    }

    @Test(arguments: [200, 204, 300, 304, 305, 306, 309, 399, 400, 503])
    func `A response with another status is returned`(status: Int) throws {
        #expect(try decide(.get("https://a.example/"), status: status, to: ["/2"]) == .answer)
    }

    @Test(arguments: [
        ("/2", "https://a.example/2", nil), ("2?q#f", "https://a.example/dir/2?q", "f"),
        ("//b.example", "https://b.example/", "old"), ("?q", "https://a.example/dir/1?q", "old"),
        ("https://B.example:443/2#", "https://b.example/2", ""), ("#new", "https://a.example/dir/1?p", "new"),
        ("../x y", "https://a.example/x%20y", "old"), ("https://[::1]:8443/", "https://[::1]:8443/", "old"),
        ("\\\\b.example/x", "https://a.example/dir/%5C%5Cb.example/x", "old"),
    ])
    func `The target is resolved and inherits the fragment`(location: String, url: String, fragment: String?) throws {
        let (next, redirection) = try follow(.get("https://a.example/dir/1?p#old"), status: 302, to: location)

        let expected = fragment ?? "old"
        #expect(next.options.fragment == expected)
        #expect(redirection.to.absoluteString == "\(url)#\(expected)")
        #expect(redirection.from.absoluteString == "https://a.example/dir/1?p#old")
    }

    @Test(arguments: [
        ([], RedirectionRefusal.missingLocation), ([""], .missingLocation), (["/2", "/3"], .invalidLocation),
        (["https://"], .invalidLocation), (["https:///x"], .invalidLocation), (["https:x"], .invalidLocation),
        (["https://b.example:99999/"], .invalidLocation), (["https://b.example:x/"], .invalidLocation),
        (["https://b c.example/"], .invalidLocation), (["https://a.example%2Fb/"], .invalidLocation),
        (["/\t2"], .invalidLocation),
        (["https://u@b.example/"], .userinfo), (["https://u:p@b.example/"], .userinfo), (["//:@b.example"], .userinfo),
        (["https://b.example\\@c.example/"], .userinfo), (["ftp://b.example/"], .unsupportedScheme),
        (["file:///etc/passwd"], .unsupportedScheme), (["javascript:alert(1)"], .unsupportedScheme),
        (["data:text/plain,x"], .unsupportedScheme), (["mailto:a@b.example"], .unsupportedScheme),
        (["http://a.example/"], .downgrade), (["http://b.example/"], .downgrade),
    ])
    func `A location that cannot be followed is refused`(locations: [String], refusal: RedirectionRefusal) throws {
        #expect(try decide(.get("https://a.example/"), status: 301, to: locations) == .refuse(refusal))
    }

    @Test func `A downgrade is followed if the policy allows it, an upgrade always`() throws {
        let policy = RedirectionPolicy.standard.allowingDowngrades()
        let (down, _) = try follow(.get("https://a.example/"), status: 301, to: "http://a.example/", policy: policy)
        let (up, _) = try follow(.get("http://a.example/"), status: 301, to: "https://a.example/")

        #expect(down.head.scheme == "http")
        #expect(up.head.scheme == "https")
    }

    @Test(arguments: [301, 302, 307, 308])
    func `A body that is read once is not sent again`(status: Int) throws {
        let body = Body(replay: .once) { _ in throw CancellationError() }
        let request = try Request.put("https://a.example/", body: body)

        #expect(try decide(request, status: status, to: ["/2"]) == .refuse(.bodyReadOnce))
    }

    @Test func `A body that is read once does not prevent a rewrite to GET`() throws {
        let body = Body(replay: .once) { _ in throw CancellationError() }

        #expect(try follow(.post("https://a.example/", body: body), status: 303, to: "/2").next.body == .empty)
    }

    @Test(arguments: [
        ("https://a.example/", "https://b.example/", false), ("https://a.example/", "https://a.example:444/", false),
        ("https://a.example/", "https://a.example:443/", true), ("http://a.example/", "https://a.example/", true),
        ("http://a.example/", "https://b.example/", false), ("http://a.example:81/", "https://a.example/", false),
        ("http://a.example/", "https://a.example:81/", false), ("http://a.example/", "http://www.a.example/", false),
    ])
    func `A body is sent again only to its host`(from: String, location: String, follows: Bool) throws {
        let request = try Request.post(from, body: "content")

        let decision = try decide(request, status: 307, to: [location])
        let allowed = try decide(
            request, status: 307, to: [location], policy: .standard.allowingBodiesAcrossOrigins())

        #expect((decision == .refuse(.bodyAcrossOrigins)) == !follows)
        guard case .follow(let next, _) = allowed else { throw TestFailure(decision: allowed) }
        #expect(next.body == "content")
    }

    @Test(arguments: [
        ("https://a.example/", true), ("https://a.example:443/x", true), ("https://b.example/", false),
        ("https://a.example:444/", false), ("https://a.example.evil/", false), ("https://sub.a.example/", false),
    ])
    func `Secrets are sent only to their origin`(location: String, keeps: Bool) throws {
        var request = try Request.get(
            "https://a.example/",
            fields: [
                .authorization: "1", .cookie: "2", .proxyAuthorization: "3", .declared: "4", .own: "5", .host: "6",
                .origin: "7", .accept: "8", .apiKey: "9",
            ])
        var sensitive = HTTPField(name: .userAgent, value: "10")
        sensitive.indexingStrategy = .disallow
        request.head.headerFields.append(sensitive)
        request.options.secretFields = [.own]
        request.options.principal = Principal("user-42")

        let (next, _) = try follow(request, status: 302, to: location, secretFields: [.declared])

        #expect(next.head.headerFields == (keeps ? request.head.headerFields : [.accept: "8"]))
        #expect(next.options.principal == request.options.principal)
    }

    @Test func `An upgrade to TLS is another origin for secrets`() throws {
        let request = try Request.get("http://a.example/", fields: [.authorization: "1"])

        #expect(try follow(request, status: 301, to: "https://a.example/").next.head.headerFields.isEmpty)
    }

    @Test(arguments: [
        ("https://a.example/x?q", "https://a.example/1", "/2", "https://a.example/x?q"),
        ("https://a.example/x?q", "https://a.example/1", "https://b.example/", "https://a.example/"),
        ("https://c.example:8443/x", "https://a.example/1", "https://b.example/", "https://c.example:8443/"),
        ("http://a.example/x", "http://a.example/1", "http://b.example/", "http://a.example/"),
        ("https://a.example/x", "https://a.example/1", "http://b.example/", nil),
        ("https://a.example/x", "http://a.example/1", "http://a.example/2", nil),
        ("http://a.example/x", "https://a.example/1", "http://a.example/2", nil),
        ("not a URL", "https://a.example/1", "https://b.example/", nil),
    ])
    func `Referer holds only the origin across origins, and no https URL over http`(
        referer: String, from: String, location: String, expected: String?
    ) throws {
        let request = try Request.get(from, fields: [.referer: referer])

        let (next, _) = try follow(request, status: 302, to: location, policy: .standard.allowingDowngrades())

        #expect(next.head.headerFields[.referer] == expected)
    }

    @Test func `No location causes a crash, or sends a secret to another origin`() throws {
        let generator = SeededGenerator(seed: 302)
        let alphabet = Array("htps:/:/:/@ab.?#[]%\\ 0\t\u{0}ü\u{202E}")
        let request = try Request.get("https://a.b/1", fields: [.authorization: "secret"])
        var followed = 0
        for round in 0..<5000 {
            let noise = (0..<generator.next() % 16).map { _ in
                alphabet[Int(generator.next() % UInt64(alphabet.count))]
            }
            let location = ["", "https://", "//", "https://a.b"][round % 4] + String(noise)
            guard case .follow(let next, let step) = try decide(request, status: 302, to: [location]) else { continue }

            followed += 1
            let keeps = try Origin(next.head) == Origin(request.head)
            #expect(next.head.headerFields.contains(.authorization) == keeps, "\(location.debugDescription)")
            #expect(step.to.user() == nil && step.to.scheme == "https", "\(location.debugDescription)")
            #expect(step.crossesOrigins != keeps, "\(location.debugDescription)")
            #expect(step.to.host() == next.head.authority.flatMap { try? Origin("https://\($0)").bareHost })
        }
        #expect(followed > 500)
    }

    private func decide(
        _ request: Request, status: Int, to locations: [String], policy: RedirectionPolicy = .standard,
        secretFields: Set<HTTPField.Name> = []
    ) throws -> RedirectionDecision {
        var response = HTTPResponse(status: .init(code: status))
        response.headerFields[values: .location] = locations
        let url = try #require(request.url)
        return .after(response, to: request, at: url, policy: policy, secretFields: secretFields)
    }

    private func follow(
        _ request: Request, status: Int, to location: String, policy: RedirectionPolicy = .standard,
        secretFields: Set<HTTPField.Name> = []
    ) throws -> (next: Request, redirection: Redirection) {
        let decision = try decide(request, status: status, to: [location], policy: policy, secretFields: secretFields)
        guard case .follow(let next, let redirection) = decision else { throw TestFailure(decision: decision) }
        return (next, redirection)
    }
}

private struct TestFailure: Error {
    let decision: RedirectionDecision
}

extension Origin {
    fileprivate var bareHost: String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let apiKey = Self("X-API-Key")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let declared = Self("X-Declared")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let own = Self("X-Own")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let host = Self("Host")!
}
