import Decorum
import DecorumTesting
import Testing

@Suite struct NeedleSearchTests {
    func matches(_ needles: [String], _ text: String) -> [Int] {
        var search = NeedleSearch()
        for (tag, needle) in needles.enumerated() { search.insert(Array(needle.utf8), tag: tag) }
        return search.matches(in: Array(text.utf8)).map(\.tag)
    }

    @Test func `Of two needles at one place the longer is found, without overlapping ones`() {
        #expect(matches(["abcdefgh", "abcdefghij"], "abcdefghij abcdefghi") == [1, 0])
        #expect(matches(["abcdefgh", "fghijklm"], "abcdefghijklm fghijklm") == [0, 1])
        #expect(matches(["short", "abcdefgh"], "short abcdefgh") == [1])
        #expect(matches(["aaaaaaaa"], "aaaaaaaaaaaaaaaa") == [0, 0])
        #expect(matches([], "abcdefgh") == [])
    }

    @Test func `Needles with the same start are distinguished by their rest`() {
        // Comparing each with all others would take minutes.
        let tokens = (0..<5_000).map {
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\(String($0 + 1_000_000_000, radix: 36))\($0)"
        }
        #expect(matches(tokens, tokens.joined(separator: " ")) == Array(tokens.indices))
    }

    @Test func `Random needles are found at the places that a naive search finds`() {
        let generator = SeededGenerator(seed: 9)
        func word(_ length: UInt64) -> String {
            String((0..<length).map { _ in "abc".randomElement(using: generator) })
        }
        for _ in 0..<300 {
            let needles = (0..<6).map { _ in word(8 + generator.next() % 6) }
            let text = word(30) + needles[0] + word(10) + needles[3]
            var expected: [Int] = []
            var rest = text[...]
            while !rest.isEmpty {
                let found = needles.indices.filter { rest.hasPrefix(needles[$0]) }.max {
                    (needles[$0].count, $1) < (needles[$1].count, $0)
                }
                if let found { expected.append(found) }
                rest = rest.dropFirst(found.map { needles[$0].count } ?? 1)
            }
            #expect(matches(needles, text) == expected)
        }
    }
}

extension String {
    fileprivate func randomElement(using generator: SeededGenerator) -> Character {
        self[index(startIndex, offsetBy: Int(generator.next() % UInt64(count)))]
    }
}
