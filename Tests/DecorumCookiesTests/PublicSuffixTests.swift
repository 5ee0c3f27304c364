import Foundation
import Testing

@testable import DecorumCookies

/// The domains under which anybody can register a name.
@Suite struct PublicSuffixTests {
    private static let list = """
        // ===BEGIN ICANN DOMAINS===
        com
        uk
        co.uk  // a remark
        *.ck
        !www.ck
        cn
        公司.cn
        食狮.公司.cn
        网络.cn

        // ===BEGIN PRIVATE DOMAINS===
        github.io
        """

    @Test(arguments: [
        ("com", true), ("example.com", false), ("co.uk", true), ("example.co.uk", false), ("uk", true),
        ("anything", true),
        ("foo.ck", true), ("www.ck", false), ("a.foo.ck", false), ("a.www.ck", false), ("github.io", true),
        ("io", true),
        ("me.github.io", false), ("xn--55qx5d.cn", true), ("a.xn--55qx5d.cn", false),
        ("xn--85x722f.xn--55qx5d.cn", true), ("xn--io0a7i.cn", true), ("example.xn--io0a7i.cn", false),
        ("example.net", false),
    ])
    func `The rules of a list decide, also exceptions and international names`(row: (host: String, isSuffix: Bool)) {
        #expect(PublicSuffixes(PublicSuffixRules(Self.list)).isPublicSuffix(row.host) == row.isSuffix)
    }

    @Test(arguments: [
        ("com", true), ("example.com", false), ("co.uk", true), ("com.au", true), ("gouv.fr", true),
        ("example.de", false),
        ("ibm.de", true), ("www.ibm.de", false), ("localhost", true), ("github.io", false),
    ])
    func `Without a list, a rule decides that refuses rather too much`(row: (host: String, isSuffix: Bool)) {
        #expect(PublicSuffixes.conservative.isPublicSuffix(row.host) == row.isSuffix)
    }

    @Test(.enabled(if: PublicSuffixes.system.description != "conservative", "The system has no list."))
    func `The list of the system knows hosters`() {
        let suffixes = PublicSuffixes.system
        for host in ["github.io", "co.uk", "com", "s3.amazonaws.com"] {
            #expect(suffixes.isPublicSuffix(host), "\(host)")
        }
        #expect(!suffixes.isPublicSuffix("example.com") && !suffixes.isPublicSuffix("city.kobe.jp"))
        #expect(suffixes.isPublicSuffix("c.kobe.jp"))
    }

    @Test func `A function decides, and a file without rules is refused`() throws {
        let own = PublicSuffixes("own") { $0 == "shared.example" || !$0.contains(".") }
        let jar = CookieJar(suffixes: own)
        let place = try #require(URL(string: "https://a.shared.example/"))
        let cookie = try #require(SetCookie("n=v; Domain=shared.example"))
        #expect(jar.set(cookie, from: place) == .publicSuffix)

        let file = FileManager.default.temporaryDirectory.appending(path: "suffixes-\(UInt64.random(in: 0 ... .max))")
        try Data("// nothing\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(throws: CocoaError.self) { try PublicSuffixes(contentsOf: file) }
    }
}
