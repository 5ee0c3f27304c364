import DecorumTesting
import HTTPTypes
import Testing

@testable import DecorumAuthentication

/// RFC 9110, sections 5.6, 11.2 and 11.6.1.
@Suite struct ChallengeTests {
    @Test func `The example of RFC 9110 has two challenges`() {
        let text = #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#
        #expect(
            Challenge.parse(text) == [
                Challenge(scheme: "basic", parameters: [.init("realm", "simple")]),
                Challenge(
                    scheme: "newauth",
                    parameters: [.init("realm", "apps"), .init("type", "1"), .init("title", #"Login to "apps""#)]),
            ])
    }

    @Test(arguments: [
        ("", []), (" , ,", []), ("Negotiate", [Challenge(scheme: "negotiate")]),
        ("Negotiate YWJj==", [Challenge(scheme: "negotiate", token68: "YWJj==")]),
        (
            "Negotiate YWJj, Basic realm=a",
            [
                Challenge(scheme: "negotiate", token68: "YWJj"),
                Challenge(scheme: "basic", parameters: [.init("realm", "a")]),
            ]
        ),
        ("NTLM,,Negotiate ,", [Challenge(scheme: "ntlm"), Challenge(scheme: "negotiate")]),
        (
            "Basic realm = \"a\" ,charset=UTF-8",
            [
                Challenge(scheme: "basic", parameters: [.init("realm", "a"), .init("charset", "UTF-8")])
            ]
        ),
        (
            #"Bearer error="a, Basic realm=\"x\"""#,
            [
                Challenge(scheme: "bearer", parameters: [.init("error", #"a, Basic realm="x""#)])
            ]
        ),
        ("Basic realm=", [Challenge(scheme: "basic", token68: "realm=")]),
        (#"Basic realm="""#, [Challenge(scheme: "basic", parameters: [.init("realm", "")])]),
    ])
    func `Lists are read`(text: String, challenges: [Challenge]) {
        #expect(Challenge.parse(text) == challenges)
    }

    @Test(arguments: [
        #"Basic realm="a"#, #"Basic realm="a\"#, #"Basic realm="a"b"#, "Basic a=b c", "Basic a b", "=a", "\"Basic\"",
        "Basic\"a\"",
        "Basic a=\u{1}", "Basic a==b", "Basic a=b=c",
    ])
    func `A challenge with a mistake is left out, with those behind it`(text: String) {
        #expect(Challenge.parse("Digest a=b, \(text), Last x=y").map(\.scheme) == ["digest"])
    }

    @Test func `A name that is there twice has no value`() {
        let challenge = Challenge.parse("Bearer error=a, ERROR=b, realm=c").first
        #expect(challenge?["error"] == nil && challenge?.realm == "c" && challenge?.parameters.count == 3)
    }

    @Test func `Several fields are one list`() {
        let fields: HTTPFields = [.wwwAuthenticate: "Basic realm=a", .wwwAuthenticate: "Bearer, Digest nonce=b"]
        #expect(fields.challenges.map(\.scheme) == ["basic", "bearer", "digest"])
        #expect(Response(status: .unauthorized, fields: fields).challenges.count == 3)
    }

    @Test func `Huge fields have limits`() {
        let many = Array(repeating: "Basic realm=a", count: 1000).joined(separator: ",")
        #expect(Challenge.parse(many).count == 64)
        let parameters = (0..<100).map { "p\($0)=1" }.joined(separator: ",")
        #expect(Challenge.parse("Basic " + parameters).isEmpty)
        #expect(Challenge.parse("Digest nonce=" + String(repeating: "x", count: 100_000)).isEmpty)
        let fields = HTTPFields((0..<100).map { _ in HTTPField(name: .wwwAuthenticate, value: many) })
        #expect(fields.challenges.count == 64)
    }

    @Test func `Any bytes give the same challenges when they are written again`() {
        let generator = SeededGenerator(seed: 11)
        let pieces = [
            "Basic", "Bearer ", "realm", "=", "==", "\"", "\\", ",", " ", "\t", "a", "token68+/==", "é", "error=\"x\"",
            ";",
            "\u{7F}", "a=b",
        ]
        var found = 0
        for _ in 0..<20_000 {
            let text = (0..<(generator.next() % 20)).map { _ in pieces[Int(generator.next() % UInt64(pieces.count))] }
                .joined()
            let challenges = Challenge.parse(text)
            found += challenges.count
            #expect(Challenge.parse(challenges.map(written).joined(separator: ", ")) == challenges, "\(text)")
        }
        #expect(found > 500)
    }

    private func written(_ challenge: Challenge) -> String {
        let parameters = challenge.parameters.map { parameter in
            let value = parameter.value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return "\(parameter.name)=\"\(value)\""
        }
        return challenge.scheme + (challenge.token68.map { " " + $0 } ?? "")
            + (parameters.isEmpty ? "" : " " + parameters.joined(separator: ", "))
    }
}
