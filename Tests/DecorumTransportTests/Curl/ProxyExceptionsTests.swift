#if os(Linux)
import DecorumTesting
import Testing

@testable import Decorum

@Suite struct ProxyExceptionsTests {
    @Test(arguments: [
        ("", "https://a.example", false), ("*", "https://a.example", true), ("b.example *", "https://a.example", true),
        ("a.example", "https://a.example", true), ("A.Example", "https://a.example", true),
        ("a.example", "https://www.a.example", true), (".a.example", "https://www.a.example", true),
        (".a.example", "https://a.example", true), ("*.a.example", "https://www.a.example", true),
        ("a.example.", "https://a.example", true), ("a.example", "https://a.example.", true),
        ("a.example", "https://ba.example", false), ("www.a.example", "https://a.example", false),
        ("example", "https://a.example", true), ("xample", "https://a.example", false),
        ("b.example,a.example", "https://a.example", true), ("b.example,\ta.example ,", "https://a.example", true),
        ("b.example a.example", "https://a.example", true), (",,  ,", "https://a.example", false),
        ("a.example:443", "https://a.example", true), ("a.example:443", "http://a.example", false),
        ("a.example:8080", "http://a.example:8080", true), ("a.example:8080", "http://a.example:8081", false),
        ("*:8080", "http://a.example:8080", true), ("a.example:x", "http://a.example", false),
        ("a.example:99999", "http://a.example", false), ("localhost", "http://localhost:3000", true),
        ("localhost", "http://127.0.0.1", false), ("127.0.0.1", "http://127.0.0.1", true),
        ("0.0.1", "http://127.0.0.1", false), ("127.0.0.1", "http://127.0.0.11", false),
        ("1.0.0.127", "http://127.0.0.1", false), ("127.0.0.1", "http://127.0.0.1.example", false),
        ("10.0.0.0/8", "http://10.200.3.4", true), ("10.0.0.0/8", "http://11.0.0.1", false),
        ("192.168.16.0/20", "http://192.168.31.255", true), ("192.168.16.0/20", "http://192.168.32.0", false),
        ("10.1.2.3/32", "http://10.1.2.3", true), ("10.1.2.3/32", "http://10.1.2.2", false),
        ("0.0.0.0/0", "http://8.8.8.8", true), ("0.0.0.0/0", "http://[::1]", false),
        ("10.0.0.0/33", "http://10.0.0.0", false), ("10.0.0.0/-1", "http://10.0.0.0", false),
        ("10.0.0.0/", "http://10.0.0.0", false), ("10.0.0.0/8:80", "http://10.9.9.9", true),
        ("10.0.0.0/8:80", "http://10.9.9.9:81", false), ("::1", "http://[::1]", true), ("[::1]", "http://[::1]", true),
        ("[::1]:80", "http://[::1]", true), ("[::1]:81", "http://[::1]", false),
        ("0:0:0:0:0:0:0:1", "http://[::1]", true), ("2001:db8::/32", "http://[2001:db8:1::5]", true),
        ("[2001:db8::/32]", "http://[2001:db8:1::5]", false), ("2001:db8::/32", "http://[2001:db9::]", false),
        ("2001:db8::/129", "http://[2001:db8::]", false), ("fe80::/10", "http://[febf::1]", true),
    ])
    func `A host is excluded by the rules of NO_PROXY`(text: String, url: String, isExcluded: Bool) throws {
        #expect(try ProxyExceptions(text).contains(Origin(url)) == isExcluded)
    }

    @Test func `Any text is read without a failure`() throws {
        let generator = SeededGenerator(seed: 3)
        let alphabet = Array("0123456789abf:./[]*-_, \u{E9}\0")
        let origins = try ["http://a.b", "http://10.0.0.1:81", "https://[fe80::1]"].map { try Origin($0) }
        for _ in 0..<5000 {
            let text = String(
                (0..<Int(generator.next() % 24)).map { _ in
                    alphabet[Int(generator.next() % UInt64(alphabet.count))]
                })
            let exceptions = ProxyExceptions(text)
            for origin in origins { _ = exceptions.contains(origin) }
            #expect(try ProxyExceptions(text + ",*").contains(Origin("http://a.b")))
        }
    }
}
#endif
