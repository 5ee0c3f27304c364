/// The merging of a cassette that the tests of a suite share: each interaction belongs to the tests that recorded it.
extension RecordingMerge {
    /// An interaction of the file while the recordings of a test are merged with it.
    fileprivate struct Kept {
        var tests: [String]
        var isDropped = false
        /// The recording that takes its place for the test.
        var mending: Interaction?
    }

    /// The interactions of all tests, where the recordings of one test are added to its earlier ones, or replace them.
    ///
    /// A recording is never that of another test, even with the same answer, since it would depend on chance, such as the
    /// time in an answer, which of them are the same. The equal requests of a test keep their order, so a recording is never
    /// the same as one before an interaction that the test has got already. An interaction of no test is replaced if the test has recorded its request, unless only
    /// some tests run, since others may play it. Of two processes that record one test at the same time, the one that
    /// ends last has it.
    func joined(
        _ recorded: [Interaction], of test: String, isReplaced: Bool
    ) throws -> (interactions: [SavedInteraction], addedCount: Int) {
        var kept = (0..<content.count).map { Kept(tests: content.tests(of: $0)) }
        let ordinals = ordinals(of: content, answering: recorded) { kept[$0].belongs(to: test) }
        let known = isReplaced ? [] : known(to: test, ordinals, kept, recorded)
        var candidates = ordinals
        for (key, places) in ordinals where !isReplaced {
            // The test has got these answers already; a further recording comes after them.
            guard let last = places.last(where: known.contains) else { continue }
            candidates[key] = places.drop { $0 <= last }
        }
        var mended = isReplaced ? [:] : ordinals.mapValues { mendable($0, for: test, kept) }
        var added: [Interaction] = []
        var matched: Set<Int> = []
        for var interaction in recorded {
            let key = key(of: redactor.matchable(interaction.request))
            interaction.tests = [test]
            if let old = mended[key]?.popFirst() {
                matched.insert(old)
                if try interaction.mends(content.interaction(at: old), expiry: expiry) {
                    kept[old].mending = interaction
                    kept[old].leave(test)
                }
                continue
            }
            guard let same = first(of: &candidates[key], sameAs: interaction, kept) else {
                added.append(interaction)
                continue
            }
            matched.insert(same)
            kept[same].tests = Set(kept[same].tests + [test]).sorted()
        }
        let asked = isReplaced && !isPartial ? Set(recorded.map { key(of: redactor.matchable($0.request)) }) : []
        for (key, places) in ordinals {
            for place in places where !matched.contains(place) && !known.contains(place) {
                kept[place].replace(for: test, isAsked: asked.contains(key))
            }
        }
        return (try kept.enumerated().flatMap(saved) + added.map { .recorded($0) }, added.count)
    }

    /// The interactions that answer a test before all others and were in the file when the test opened it.
    ///
    /// Another process that records the same test adds its interactions behind those.
    private func known(
        to test: String, _ ordinals: [[[UInt8]]: ArraySlice<Int>], _ kept: [Kept], _ recorded: [Interaction]
    ) -> Set<Int> {
        let own = ordinals.mapValues { places in places.filter { kept[$0].belongs(to: test) } }
        guard let opened else { return Set(own.values.joined()) }
        func isOwn(_ place: Int) -> Bool { opened.tests(of: place).isEmpty || opened.tests(of: place).contains(test) }
        let counts = self.ordinals(of: opened, answering: recorded, including: isOwn).mapValues {
            $0.count(where: isOwn)
        }
        return Set(own.flatMap { key, places in places.prefix(counts[key] ?? 0) })
    }

    /// The interactions that a recording of the test completes or renews.
    private func mendable(_ places: ArraySlice<Int>, for test: String, _ kept: [Kept]) -> ArraySlice<Int> {
        places.filter { kept[$0].belongs(to: test) && content.isMendable(at: $0, expiry: expiry) }[...]
    }

    /// Takes candidates up to the first one with the same answer: one of the recording's test, or else of no test; nil, and
    /// all candidates, if there is none.
    private func first(
        of candidates: inout ArraySlice<Int>?, sameAs interaction: Interaction, _ kept: [Kept]
    ) -> Int? {
        func isOwn(_ place: Int) -> Bool { interaction.tests.contains(where: kept[place].tests.contains) }
        let first =
            candidates?.first { isOwn($0) && isSame(interaction, at: $0, of: content) }
            ?? candidates?.first { kept[$0].tests.isEmpty && isSame(interaction, at: $0, of: content) }
        candidates?.removeAll { $0 <= first ?? $0 }
        return first
    }

    private func saved(_ ordinal: Int, _ kept: Kept) throws -> [SavedInteraction] {
        let mending = kept.mending.map { [SavedInteraction.recorded($0)] } ?? []
        guard !kept.isDropped else { return mending }
        guard kept.tests != content.tests(of: ordinal) else { return [.existing(ordinal)] + mending }
        var interaction = try content.interaction(at: ordinal)
        interaction.tests = kept.tests
        return [.recorded(interaction)] + mending
    }
}

extension RecordingMerge.Kept {
    /// Whether a test is answered by it before all others.
    fileprivate func belongs(to test: String) -> Bool { tests.isEmpty || tests.contains(test) }

    /// Takes the interaction from a test that has not recorded it again; one that belongs to no test is dropped if its
    /// request was recorded.
    fileprivate mutating func replace(for test: String, isAsked: Bool) {
        if tests.isEmpty ? isAsked : tests.contains(test) { leave(test) }
    }

    /// Takes the interaction from a test; one that then belongs to no test is dropped.
    fileprivate mutating func leave(_ test: String) {
        tests.removeAll { $0 == test }
        isDropped = tests.isEmpty
    }
}
