import Testing

/// The model rejects each wrong answer, and accepts each right one.
@Suite struct HistoryModelTests {
    typealias Choice = HistoryModel.Choice

    /// An answer to a read at 100 seconds, after 50 requests; the resource is at version 7, and the user had signed out
    /// after 20 requests.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var kind = ResourceKind.fresh
        /// The answer came from the store, with content that the server sent at 90 seconds.
        var answer = HistoryModel.Answer(version: 7, sequence: 40, time: 90)
        var wanted = Choice(principal: 1)
        var mistakes: Set<HistoryModel.Mistake> = []

        init(
            _ name: String, _ mistakes: HistoryModel.Mistake..., kind: ResourceKind = .fresh,
            change: (inout HistoryModel.Answer, inout Choice) -> Void
        ) {
            testDescription = name
            self.kind = kind
            self.mistakes = Set(mistakes)
            wanted.uri = kind.rawValue
            answer.made = wanted
            change(&answer, &wanted)
        }
    }

    static let rows: [Row] = [
        Row("a hit") { _, _ in },
        Row("of another principal", .otherPrincipal) { answer, _ in answer.made.principal = 2 },
        Row("of a principal for none", .otherPrincipal) { _, wanted in wanted.principal = 0 },
        Row("of another URI", .otherResource) { answer, _ in answer.made.uri += ResourceKind.allCases.count },
        Row("of another cookie", .otherCookie, kind: .byCookie) { answer, wanted in
            (answer.made.cookie, wanted.cookie) = (1, 2)
        },
        Row("of a cookie for none", .otherCookie, kind: .byCookie) { answer, _ in answer.made.cookie = 1 },
        Row("of no cookie for one", kind: .byCookie) { _, wanted in wanted.cookie = 2 },
        Row("of the same cookie", kind: .byCookie) { answer, wanted in (answer.made.cookie, wanted.cookie) = (2, 2) },
        Row("public, of another cookie", kind: .common) { answer, wanted in
            (answer.made.cookie, wanted.cookie) = (1, 2)
        },
        Row("of another type", .otherType, kind: .byType) { answer, wanted in
            (answer.made.type, wanted.type) = (1, 2)
        },
        Row("one version too old", .outdated) { answer, _ in answer.version = 6 },
        Row("of a change under way") { answer, _ in answer.version = 8 },
        Row("too old, from the server itself", .outdated) { answer, _ in (answer.version, answer.sequence) = (6, 51) },
        Row("from just before the sign-out", .beforeSignOut) { answer, _ in answer.sequence = 20 },
        Row("from just after the sign-out") { answer, _ in answer.sequence = 21 },
        Row("shared, from before the sign-out", .beforeSignOut) { answer, _ in
            (answer.sequence, answer.isShared) = (20, true)
        },
        Row("damaged", .mixed) { answer, _ in answer.isWhole = false },
        Row("as old as it may be") { answer, _ in answer.time = 70 },
        Row("a second too old", .tooOld) { answer, _ in answer.time = 69 },
        Row("old, of a request under way") { answer, _ in (answer.time, answer.isShared) = (69, true) },
        Row("unconfirmed", .unconfirmed, kind: .validated) { answer, _ in answer.sequence = 50 },
        Row("confirmed by a request under way", kind: .validated) { answer, _ in
            (answer.sequence, answer.isShared) = (50, true)
        },
        Row("confirmed", kind: .validated) { answer, _ in answer.sequence = 51 },
        Row("of another principal, outdated, and too old", .otherPrincipal, .outdated, .tooOld) { answer, _ in
            answer.made.principal = 3
            (answer.version, answer.time) = (1, 1)
        },
    ]

    @Test(arguments: rows)
    func `Each answer is judged by what had happened before the read`(row: Row) {
        let read = HistoryModel.Read(wanted: row.wanted, version: 7, signOut: 20, sequence: 50, time: 100)
        #expect(HistoryModel.mistakes(in: row.answer, to: read) == row.mistakes)
    }

    @Test func `The table has each mistake`() {
        let all = Self.rows.reduce(into: Set()) { $0.formUnion($1.mistakes) }
        #expect(all == Set(HistoryModel.Mistake.allCases))
    }
}
