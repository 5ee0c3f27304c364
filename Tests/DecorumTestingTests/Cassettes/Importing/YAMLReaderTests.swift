import Testing

@testable import DecorumTesting

@Suite struct YAMLReaderTests {
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
        (#"a: "\a\b\v\f\e\N\L\P""#, "\u{7}\u{8}\u{B}\u{C}\u{1B}\u{85}\u{2028}\u{2029}"),
        ("a: >\n  b", "b"), ("a: >\n  b\n  c\n", "b c\n"), ("a: >-\n  b\n\n  c\n\n\n  d\n", "b\nc\n\nd"),
        ("a: >+\n  b\n  c\n\n\n", "b c\n\n\n"), ("a: >\n  b\n    c\n  d\n  e\n", "b\n  c\nd e\n"),
        ("a: >\n  b\n\n   c\n\n  d\n", "b\n\n c\n\nd\n"), ("a: >-\n\n  b\n  \tc\n  d\n", "\nb\n\tc\nd"),
        ("a: >2-\n    b\n  c\n", "  b\nc"), ("a: >-\r\n  b\r\n  c\r\n", "b c"),
        ("a: >-\n  b\u{2028}  c\n", "b\u{2028}c"),
        ("a: >-\n", ""), ("a: >- # remark\n  b\n", "b"),
        ("a: &x b", "b"), ("a: &x !!python/unicode 'b'", "b"), ("a: !!python/unicode &x 'b'", "b"),
        ("a: &1\n  b\n", "b"),
        ("b: &1 text\na: *1 # remark\n", "text"), ("b: [&id001 'x', y]\na: *id001\n", "x"), ("&1 b: c\na: *1\n", "b"),
        ("b: &1 c\nc: &1 d\na: *1\n", "d"), ("c: &1 a\n*1 : b\n", "b"), ("{c: &1 a, *1 : b}", "b"),
        ("--- &1\na: b\n", "b"),
        ("b: &1 >-\n  x\n  y\na: *1", "x y"), ("b: &1 !binary |-\n  eA==\na: *1", "eA=="),
        ("a: !!python/unicode null", "null"), ("a: !!str ~", "~"), ("a: ! null", "null"),
        ("{a: !!python/unicode null}", "null"), ("a: !!python/unicode", ""),
        ("? a\n: b\n", "b"), ("? 'a'\n: >-\n  b\nc: d", "b"), ("c: d\n? \"a\"\n# remark\n: b", "b"), ("{? a : b}", "b"),
        ("? |-\n  a\n: b", "b"), ("{?a : b}", "b"), ("? c\n? a\n: b", "b"), ("? &1 a\n: b", "b"),
    ])
    func `A scalar is read as the recorder meant it`(document: String, expected: String) throws {
        #expect(try text(of: value(document), "a") == expected)
    }

    @Test(arguments: [
        "a:", "a: null", "a: ~", "a: \nb: c", "{a: , b: c}", "{a}", "? a", "? a\n:\n", "a: &x\nb: *x",
        "{a: &x , b: *x}", "a: !!null", "a: !!null null", "a: !!null \"null\"", "{a: !!null 'null'}",
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
        ("a: 1\nb: & 2", 2, "name"), ("a: *x", 1, "no anchor"), ("a:\n  <<: b", 2, "merge keys"),
        ("a: &x b\n<<: *x", 2, "merge keys"), ("a: &x b\n? <<\n: *x", 2, "merge keys"),
        ("a: &x [1, *x]", 1, "within"), ("a: &x 1\nb: &x\n  c: *x", 3, "within"), ("a: &x 1\nb: *x c", 2, "behind"),
        ("a: *x.y", 1, "name"), ("a: &x [b]\n*x : c", 2, "key"), ("a: &x &y b", 1, "begin"), ("a: [?b]", 1, "begin"),
        ("a: {?: b}", 1, "begin"),
        ("? [a]\n: b", 1, "key"), ("?\n  a: b\n: c", 1, "key"), ("? - a\n: c", 1, "list"), (": a", 1, "begin"),
        ("a: [>\n  b]", 1, "begin"), ("%YAML 1.1\n---\na: b", 1, "directives"),
        ("a: b\n---\nc: d", 2, "document"),
        ("a: b: c", 1, "behind"), ("a: 'x", 1, "no end"), ("a: 1\n\n  b: 2", 3, ""), ("a: [1, 2", 1, "never closed"),
        ("a: {b: 1", 1, "never closed"), ("a: \"\\q\"", 1, "escape"), ("a: \"\\x1\"", 1, "digits"),
        ("a: \"\\UFFFFFFFF\"", 1, "character"),
        ("a:\n\tb: c", 2, "tab"), ("a: |x\n  b", 1, "block"), ("a: >--\n  b", 1, "block"), ("a: @b", 1, "begin"),
        ("a: 1\nb", 2, "key"),
        ("", 1, "empty"),
        ("a: - b", 1, "list"), ("a: 'x' y", 1, "behind"), ("a: ['b' 1]", 1, "comma"), (" \n\n", 3, "empty"),
    ])
    func `Unsupported YAML is refused with its line`(document: String, line: Int, reason: String) {
        let error = #expect(throws: YAMLSyntaxError.self) { try value(document) }

        #expect(error?.line == line)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test func `A long key on several lines is joined, and its value may be of any kind`() throws {
        let long = Array(repeating: "word", count: 60).joined(separator: " ")
        let root = try value(
            "a:\n  ? '\(long.replacing(" word word word", with: "\n    word word word"))'\n  : - 1\n    - 2\n  ? b\n  : c: 3\n    d: 4\n  e: 5\n"
        )

        let outer = try #require(mapping(root)?.first)
        let members = try #require(mapping(outer.value))
        #expect(members.map(\.name) == [long, "b", "e"])
        #expect(elements(of: members[0].value)?.count == 2)
        #expect(mapping(members[1].value)?.map(\.name) == ["c", "d"])
    }

    @Test func `An alias is what its anchor stands before, with its tag`() throws {
        let root = try value("a: &1\n  x: !binary &2 AAE=\n  y:\n  - p\n  - q\nb:\n- *1\n- *2\nc: [*1 , {d: *2}]\n")

        let members = try #require(mapping(root))
        let list = try #require(elements(of: members[1].value))
        #expect(list[0] == members[0].value)
        #expect(list[1].tag == "binary")
        #expect(elements(of: members[2].value)?.first == members[0].value)
    }

    @Test(arguments: [
        ("[lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]", 9, "repeat too much"),
        ("'" + String(repeating: "x", count: 1000) + "'", 7, "repeat too much"), ("[[[[x]]]]", 0, "deeply"),
    ])
    func `Few lines that stand for billions are refused at once`(first: String, width: Int, reason: String) {
        var document = "a0: &a0 \(first)\n"
        for level in 1..<200 {
            let aliases = Array(repeating: "*a\(level - 1)", count: width + 1).joined(separator: ", ")
            document += "a\(level): &a\(level) [\(aliases)]\n"
        }

        let error = #expect(throws: YAMLSyntaxError.self) { try value(document) }

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
        try YAMLReader.value(of: Array(document.utf8)).0
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
        case .literal(let text), .string(let text), .number(let text): text
        case .null, .list, .map: nil
        }
    }
}
