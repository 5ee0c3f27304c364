import Testing

@testable import Decorum

@Suite struct ResponseSpaceBudgetTests {
    @Test(
        arguments: [
            // Before the first survey, one is made soon; each process then has a hundredth of the limit, or a sixteenth of
            // the rest.
            (found: nil, written: [10], expected: [.soon]),
            (found: nil, written: [10, 10], expected: [.soon, .none]),
            (found: nil, written: [10, 1000], expected: [.soon, .none]),
            (found: nil, written: [10, 2000], expected: [.soon, .now]),
            (found: 100_000, written: [1000, 1], expected: [.none, .soon]),
            (found: 100_000, written: [1001, 999, 1], expected: [.soon, .none, .now]),
            (found: 20_000, written: [5000, 1, 5000], expected: [.none, .soon, .now]),
            (found: 0, written: [6250], expected: [.none]), (found: 0, written: [6251], expected: [.soon]),
            (found: 0, written: [12_501], expected: [.now]), (found: 0, written: [100_000], expected: [.now]),
            (found: 0, written: [100_001, 10], expected: [.out, .none]),
        ] as [(found: Int?, written: [Int], expected: [ResponseSpaceBudget.Urgency])])
    func `A write needs room now, soon, or not, or does not fit`(
        found: Int?, written: [Int], expected: [ResponseSpaceBudget.Urgency]
    ) {
        var budget = ResponseSpaceBudget(limit: 100_000)
        if let found {
            let before = budget.beginSurvey()
            let fits = budget.endSurvey(found: found, before: before, room: 0)
            #expect(fits)
        }
        var urgencies: [ResponseSpaceBudget.Urgency] = []
        for count in written { urgencies.append(budget.write(count)) }
        #expect(urgencies == expected)
    }

    @Test(
        arguments: [(0, 0, nil), (98_000, 1000, nil), (98_001, 1000, 95_000), (100_000, 0, 96_000)]
            as [(
                Int, Int, Int?
            )])
    func `A survey removes files down to four hundredths below the limit`(found: Int, room: Int, target: Int?) {
        let budget = ResponseSpaceBudget(limit: 100_000)
        #expect(budget.target(found: found, room: room) == target)
    }

    @Test func `Bytes that are written during a survey count after it`() {
        var budget = ResponseSpaceBudget(limit: 100_000)
        _ = budget.write(500)
        let before = budget.beginSurvey()
        _ = budget.write(700)
        let fits = budget.endSurvey(found: 99_000, before: before, room: 100)
        #expect(fits)
        #expect(budget.written == 800)
        #expect(budget.found == 99_000)
        let fitsMore = budget.endSurvey(found: 99_950, before: 0, room: 100)
        #expect(!fitsMore)
    }

    @Test func `A write in whose place files were removed counts no more, and asks for one survey`() {
        var budget = ResponseSpaceBudget(limit: 100_000)
        #expect(!budget.isNearLimit)
        _ = budget.endSurvey(found: 83_999, before: budget.beginSurvey(), room: 0)
        #expect(!budget.isNearLimit)
        _ = budget.endSurvey(found: 84_000, before: budget.beginSurvey(), room: 0)
        #expect(budget.isNearLimit)
        _ = budget.write(10_000)
        _ = budget.beginSurvey()
        let asks = [budget.free(4000), budget.free(4000), budget.free(4000)]
        #expect(asks == [true, false, false])
        #expect(budget.written == 0)
    }

    @Test func `A write that waited for the survey of another is counted, if it fits`() {
        var budget = ResponseSpaceBudget(limit: 100_000)
        let fitsUnmeasured = budget.fitsNow(10)
        _ = budget.write(3000)
        _ = budget.endSurvey(found: 96_000, before: budget.beginSurvey(), room: 1000)
        let fits = [500, 500, 1].map { budget.fitsNow($0) }
        #expect(!fitsUnmeasured)
        #expect(fits == [true, true, false])
        #expect(budget.written == 2000)
    }

    @Test func `Bodies that are being received take at most half of the limit`() {
        var budget = ResponseSpaceBudget(limit: 1000)
        var admitted = [300, 200, 1].map { budget.admit($0) }
        budget.release(300)
        admitted.append(budget.admit(300))
        #expect(admitted == [true, true, false, true])
        #expect(budget.incoming == 500)
        var empty = ResponseSpaceBudget(limit: 0)
        let isAdmitted = empty.admit(1)
        #expect(!isAdmitted)
    }
}
