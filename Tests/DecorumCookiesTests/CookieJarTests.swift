import DecorumCookies
import DecorumTesting
import Foundation
import Testing

/// The limits, the lifetimes and the owners of the cookies in a jar.
@Suite(.timeLimit(.minutes(2))) struct CookieJarTests {
    private let clock = VirtualClock()

    private func jar(_ limits: CookieJar.Limits = .init()) -> CookieJar {
        CookieJar(suffixes: .conservative, limits: limits, clock: clock)
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func cookie(_ text: String) throws -> SetCookie { try #require(SetCookie(text)) }

    @Test(arguments: [
        ("n=v; Domain=example.com", "https://example.org/", CookieRefusal.domain),
        ("n=v; Domain=co.uk", "https://a.co.uk/", .publicSuffix), ("n=v; Domain=com", "https://a.com/", .publicSuffix),
        ("n=v; Domain=com.", "https://a.com./", .publicSuffix), ("n=v; Secure", "http://a.com/", .notEncrypted),
        ("n=v; SameSite=None", "https://a.com/", .sameSiteNone), ("__Host-n=v", "https://a.com/", .prefix),
        ("n=v; Domain=0.0.1", "https://127.0.0.1/", .domain), ("n=v; Domain=xn--x", "https://a.xn--x/", .publicSuffix),
        ("n=v; Domain=日本", "https://a.com/", .publicSuffix), ("n=v", "data:text", .invalidURL),
    ])
    func `A refused cookie has a reason`(row: (cookie: String, url: String, reason: CookieRefusal)) throws {
        let jar = jar()
        #expect(try jar.set(cookie(row.cookie), from: url(row.url)) == row.reason)
        #expect(jar.count == 0)
    }

    @Test func `A cookie over http does not hide one that is for https alone`() throws {
        let jar = jar()
        let (secure, plain) = (try url("https://a.example.com/"), try url("http://a.example.com/"))
        jar.set(try cookie("n=good; Secure; Path=/a; Domain=example.com"), from: secure)
        #expect(try jar.set(cookie("n=bad; Path=/a"), from: plain) == .hidesSecure)
        #expect(try jar.set(cookie("n=bad; Path=/a/b; Domain=example.com"), from: plain) == .hidesSecure)
        #expect(try jar.set(cookie("n=other; Path=/"), from: plain) == nil)
        #expect(try jar.set(cookie("n=bad; Path=/a"), from: url("http://b.example.com/")) == .hidesSecure)
        #expect(try jar.set(cookie("n=new; Secure; Path=/a; Domain=example.com"), from: secure) == nil)
        #expect(try jar.cookies(for: url("https://a.example.com/a")).map(\.value) == ["new", "other"])
    }

    @Test func `A cookie ends in time, after 400 days at most`() async throws {
        let jar = jar()
        let place = try url("https://a.com/")
        jar.set(try cookie("short=1; Max-Age=60"), from: place)
        jar.set(try cookie("long=1; Max-Age=999999999999"), from: place)
        jar.set(try cookie("date=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT"), from: place)
        #expect(jar.cookies(for: place).count == 3)

        clock.advance(by: .seconds(60))
        #expect(jar.cookies(for: place).map(\.name) == ["long", "date"])
        #expect(jar.count == 2)

        clock.advance(by: .seconds(400 * 86_400))
        #expect(jar.cookies(for: place).isEmpty && jar.count == 0)
    }

    @Test func `A site above its limit loses its own cookies, plain ones first`() throws {
        let jar = jar(.init(perSite: 10))
        let (mine, other) = (try url("https://a.example.com/"), try url("https://example.net/"))
        jar.set(try cookie("other=1"), from: other)
        jar.set(try cookie("old=1; Secure"), from: mine)
        // A server may name as many hosts below its domain as it likes.
        for number in 0..<200 { jar.set(try cookie("c=\(number)"), from: try url("https://h\(number).example.com/")) }
        #expect(jar.count == 11)
        #expect(jar.cookies(for: other).count == 1 && jar.cookies(for: mine).map(\.name) == ["old"])
        #expect(try jar.cookies(for: url("https://h199.example.com/")).count == 1)
    }

    @Test func `A full jar loses the cookies that were not used for longest`() throws {
        let jar = jar(.init(perSite: 5, total: 100))
        let first = try url("https://site0.com/")
        for number in 0..<1000 {
            jar.set(try cookie("c=1"), from: try url("https://site\(number).com/"))
            #expect(jar.count <= 100)
            if number > 0 { #expect(jar.cookies(for: first).count == 1) }
        }
        #expect(try jar.cookies(for: url("https://site500.com/")).isEmpty)
        for limits in [CookieJar.Limits(perSite: 0), .init(total: 0), .init(perSite: -1, total: -1)] {
            let empty = CookieJar(suffixes: .conservative, limits: limits, clock: clock)
            empty.set(try cookie("c=1"), from: first)
            #expect(empty.count == 0)
        }
    }

    @Test func `A request has the newest cookies where a field of all would be too long`() throws {
        let jar = jar()
        let place = try url("https://a.com/a")
        let value = String(repeating: "x", count: 4000)
        for number in 0..<60 {
            jar.set(try cookie("c\(number)=\(value); Path=\(number % 2 == 0 ? "/" : "/a")"), from: place)
        }
        let sent = jar.cookies(for: place)
        #expect(sent.map { "\($0.name)=\($0.value)" }.joined(separator: "; ").utf8.count <= 50 * 4096)
        #expect(Set(sent.map(\.name)) == Set((9..<60).map { "c\($0)" }))
        #expect(sent.first?.name == "c9" && sent.last?.name == "c58")
        #expect(jar.count == 60)
    }

    @Test func `Cookies of one principal are neither seen nor removed by another`() throws {
        let jar = jar()
        let (ada, bob) = (Principal("ada"), Principal("bob"))
        let place = try url("https://a.com/")
        for principal in [ada, bob, nil] { jar.set(try cookie("n=v"), from: place, of: principal) }
        jar.set(try cookie("n=x; Max-Age=0"), from: place, of: bob)
        #expect(jar.cookies(for: place, of: ada).count == 1 && jar.cookies(for: place, of: bob).isEmpty)

        jar.removeCookies(of: ada)
        #expect(jar.allCookies(of: ada).isEmpty && jar.allCookies().count == 1 && jar.count == 1)
        jar.removeAll()
        #expect(jar.count == 0)
    }

    @Test func `A lookup looks at no other site`() throws {
        func time(of count: Int) throws -> Duration {
            let jar = jar(.init(total: 100_000))
            let place = try url("https://site7.com/")
            for number in 0..<count { jar.set(try cookie("c=1"), from: try url("https://site\(number).com/")) }
            #expect(jar.count == count)
            return (0..<5).map { _ in
                ContinuousClock().measure { for _ in 0..<500 { _ = jar.cookies(for: place) } }
            }.min() ?? .zero
        }
        let (few, many) = (try time(of: 20), try time(of: 20_000))
        #expect(many < few * 8, "\(few), \(many)")
    }

    @Test func `Many tasks set, read and remove at the same time`() async throws {
        let jar = jar(.init(perSite: 20, total: 200))
        await withTaskGroup { group in
            for task in 0..<25 {
                group.addTask {
                    for number in 0..<200 {
                        guard let place = URL(string: "https://s\(number % 40).com/"),
                            let cookie = SetCookie("c\(task)=\(number)")
                        else { continue }
                        jar.set(cookie, from: place, of: Principal("\(task % 3)"))
                        _ = jar.cookies(for: place, of: Principal("\(number % 3)"))
                        if number % 50 == 0 { jar.removeCookies(of: Principal("\(task % 3)")) }
                    }
                }
            }
        }
        let all = (0..<3).map { jar.allCookies(of: Principal("\($0)")).count }.reduce(0, +)
        #expect(all == jar.count && all <= 200)
    }
}
