import Testing

@testable import DecorumTesting

@Suite(.timeLimit(.minutes(3))) struct YAMLReaderTests {
    @Test(arguments: [
        ("a: b", "b"), ("a:   b   ", "b"), ("a: b # remark", "b"), ("a: b#c", "b#c"),
        ("a: http://x:80/y", "http://x:80/y"),
        ("a: 'it''s'", "it's"), (#"a: "x\ty\u20ac\U0001F600\xE9\_\0\/""#, "x\ty€😀é\u{A0}\0/"), ("a: no", "no"),
        ("a: 1e3", "1e3"), ("a: ''", ""), ("a: ! 'text'", "text"), ("a: one\n  two\n\n  three\n", "one two\nthree"),
        ("a: 'one\n  two\n\n\n  three'", "one two\n\nthree"), ("a: \"one \\\n  two\\\n  \\ three\"", "one two three"),
        ("a: |\n  x\n   y\n\n  z\n\n\n", "x\n y\n\nz\n"), ("a: |-\n  x\n", "x"), ("a: |+\n  x\n\n\n", "x\n\n\n"),
        ("a: |2-\n    x\n  y\n", "  x\ny"), ("a: |\n\n  x", "\nx"),
        ("a: |-\n  # no remark\n  b: c\n", "# no remark\nb: c"),
        ("a: \"x\r\n  y\"\r\n", "x y"), ("a: |-\r\n  x\r\n  y\r\n", "x\ny"), ("a: |-\n  x\u{2028}  y\n", "x\u{2028}y"),
        ("\"a\": b", "b"), ("'a' : b", "b"), ("!!python/unicode 'a': !!python/unicode 'b'", "b"),
        ("--- \na: b\n...\n", "b"),
        ("\u{FEFF}a: b", "b"), (#"a: "\ud83d\ude00""#, "😀"), ("a:\n  long\n", "long"), ("{a: b}", "b"),
        ("# remark\na: b", "b"),
    ])
    func `A scalar is read as the recorder meant it`(document: String, expected: String) throws {
        #expect(try text(of: value(document), "a") == expected)
    }

    @Test(arguments: [
        "a:", "a: null", "a: ~", "a: \nb: c", "{a: , b: c}", "{a}",
    ])
    func `Nothing, a tilde and null are null`(document: String) throws {
        let members = try #require(try mapping(value(document)))

        #expect(members.first?.name == "a")
        #expect(members.first?.value.content == .null)
    }

    @Test func `Lists may stand at the column of their key, within each other, and in brackets`() throws {
        let root = try value("a:\n- 1\n- - 2\n  - 3\n- b: 4\n  c:\n  - 5\nd: [6, {e: 7}, 'x y',\n  \"z\"]\n")

        let members = try #require(mapping(root))
        let list = try #require(elements(of: members[0].value))
        #expect(list.count == 3)
        #expect(elements(of: list[1])?.count == 2)
        #expect(try text(of: list[2], "b") == "4")
        #expect(elements(of: members[1].value)?.count == 4)
        #expect(elements(of: members[1].value)?[3].content == .string("z"))
    }

    @Test func `Tags are labels`() throws {
        let members = try #require(
            try mapping(
                value(
                    "a: !binary |-\n  AAE=\nb: !!python/object/new:os.system\n  args: [x]\nc: !<tag:yaml.org,2002:binary> AA=="
                )))

        #expect(members.map(\.value.tag) == ["binary", "python/object/new:os.system", "binary"])
        #expect(members[0].value.content == .string("AAE="))
    }

    @Test(arguments: [
        ("a: 1\nb: &x 2", 2, "anchors"), ("a: *x", 1, "aliases"), ("a:\n  <<: b", 2, "merge keys"),
        ("a: >\n  b", 1, "folded"),
        ("a: 1\n? b\n: c", 2, "explicit keys"), ("%YAML 1.1\n---\na: b", 1, "directives"),
        ("a: b\n---\nc: d", 2, "document"),
        ("a: b: c", 1, "behind"), ("a: 'x", 1, "no end"), ("a: 1\n\n  b: 2", 3, ""), ("a: [1, 2", 1, "never closed"),
        ("a: {b: 1", 1, "never closed"), ("a: \"\\q\"", 1, "escape"), ("a: \"\\x1\"", 1, "digits"),
        ("a: \"\\UFFFFFFFF\"", 1, "character"),
        ("a:\n\tb: c", 2, "tab"), ("a: |x\n  b", 1, "literal"), ("a: @b", 1, "begin"), ("a: 1\nb", 2, "key"),
        ("", 1, "empty"),
        ("a: - b", 1, "list"), ("a: 'x' y", 1, "behind"), ("a: ['b' 1]", 1, "comma"), (" \n\n", 3, "empty"),
    ])
    func `What is not read is refused with its line`(document: String, line: Int, reason: String) {
        let error = #expect(throws: YAMLSyntaxError.self) { try value(document) }

        #expect(error?.line == line)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: ["- ", "[", "{a: ", "a:\n "])
    func `Deep nesting is refused`(opening: String) {
        var document = ""
        for level in 0..<20_000 where document.utf8.count < 400_000 {
            document += opening == "a:\n " ? "a:\n" + String(repeating: " ", count: level + 1) : opening
        }

        #expect(throws: YAMLSyntaxError.self) { try value(document) }
    }

    @Test func `Bytes that are not UTF-8 are refused with their line`() {
        let error = #expect(throws: YAMLSyntaxError.self) { try YAMLReader.value(of: Array("a: b\nc: ".utf8) + [0xFF]) }

        #expect(error?.line == 2)
    }

    private func value(_ document: String) throws -> StoredValue {
        try YAMLReader.value(of: Array(document.utf8))
    }

    private func mapping(_ value: StoredValue) -> [StoredValue.Member]? {
        guard case .map(let members) = value.content else { return nil }
        return members
    }

    private func elements(of value: StoredValue) -> [StoredValue]? {
        guard case .list(let elements) = value.content else { return nil }
        return elements
    }

    private func text(of value: StoredValue, _ name: String) throws -> String? {
        switch try #require(mapping(value)?.first { $0.name == name }).value.content {
        case .literal(let text), .string(let text): text
        case .null, .list, .map: nil
        }
    }
}
