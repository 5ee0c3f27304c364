import DecorumTestSupport
import HTTPTypes
import Testing

@testable import Decorum

@Suite struct FieldListTests {
    struct Members: Decodable, Sendable {
        let value: String
        let members: [String]
    }

    @Test(arguments: try Fixtures.rows("tables/lists/members.json", of: Members.self))
    func `A list is split at commas outside of quotes`(row: Members) {
        #expect(ListMembers(row.value).map(String.init) == row.members)
    }

    struct Directives: Decodable, Sendable {
        let lines: [String]
        let has: [String]
        let lacks: [String]
        let seconds: [String: Double]
    }

    @Test(arguments: try Fixtures.rows("tables/cache-control/directives.json", of: Directives.self))
    func `Directives are read over all fields, in any letter case, and outside of quoted strings`(row: Directives) {
        var fields = HTTPFields()
        for line in row.lines { fields.append(HTTPField(name: .cacheControl, value: line)) }

        let control = CacheControl(fields)

        #expect(row.has.filter { !control.contains($0) } == [])
        #expect(row.lacks.filter(control.contains) == [])
        for (name, seconds) in row.seconds { #expect(control.seconds(of: name) == seconds) }
    }

    @Test func `A directive after any text that closes no quoted string is seen`() {
        let generator = SeededGenerator(seed: 4)
        let alphabet = Array("ab=,;\\ \t\u{E9}")
        let text = {
            let length = Int(generator.next() % 12)
            return String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
        }
        for _ in 0..<20_000 {
            let before = text().replacing("\\", with: "")
            let unclosed = "\(before)=\"\(text()), no-store, \(text())"
            #expect(CacheControl([.cacheControl: unclosed]).contains("no-store"), "\(unclosed)")
            let reopened = "\(before)=\"\(text().replacing("\\", with: "")), no-store, x=\"y\""
            #expect(CacheControl([.cacheControl: reopened]).contains("no-store"), "\(reopened)")
        }
    }

    @Test func `Vary is read in any letter case, and a star is found at any place`() {
        #expect(Vary([.vary: "Accept, accept-LANGUAGE"]).names == [.accept, .acceptLanguage])
        #expect(!Vary([:]).isAny)
        #expect(Vary([.vary: "accept, *"]).isAny)
        #expect(Vary([.vary: "no token"]).isAny)
    }

    @Test func `Random values never crash and keep every byte that is not a separator`() {
        let generator = SeededGenerator(seed: 3)
        let alphabet = Array("ab=,;\"\\ \t\u{E9}")
        for _ in 0..<5000 {
            let length = Int(generator.next() % 30)
            let value = String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
            let kept = ListMembers(value).joined().filter { $0 == "a" }.count
            #expect(kept == value.filter { $0 == "a" }.count)
            _ = CacheControl([.cacheControl: value])
        }
    }
}
