extension CassetteReport {
    /// The end of one test with a cassette.
    struct Ending: Sendable {
        var isFinished = false
        var recorded = 0
        var replayed = 0
        var verified = 0
        var missed: [String] = []
        var changed: [Change] = []
        var outdated: [Recording] = []
        /// The recordings that the test has not played; nil if it has failed, or has not replayed the file.
        var unplayed: [Recording]?
        var masked: [Mask] = []
        /// The reasons why the test has failed.
        var causes: Set<String> = []
    }

    /// Adds that a test opens a file; `name` is that of the test if it is a case, and `recorded` are the cases in the file.
    mutating func open(
        _ file: String, mode: CassetteMode, case name: String? = nil, of recorded: @autoclosure () -> Set<String> = []
    ) {
        change(file) { cassette in
            if let name {
                // A case that is recorded during the run was not in the file before.
                var cases = cassette.cases ?? Cases(recorded: recorded().sorted())
                if !cases.opened.contains(name) { cases.opened.append(name) }
                cassette.cases = cases
            }
            cassette.opened += 1
            if !cassette.modes.contains(mode) { cassette.modes.append(mode) }
        }
    }

    /// Adds that a test cannot open a file, since it does not exist.
    mutating func miss(_ file: String, mode: CassetteMode) {
        open(file, mode: mode)
        change(file) { $0.isMissing = true }
    }

    /// Adds the end of a test.
    mutating func end(_ file: String, _ ending: Ending) {
        for text in ending.causes {
            let index = causes.firstIndex { $0.text == text } ?? causes.endIndex
            if index == causes.endIndex { causes.append(Cause(text: text, tests: 0)) }
            causes[index].tests += 1
        }
        causes.sort { ($1.tests, $0.text) < ($0.tests, $1.text) }
        change(file) { cassette in
            cassette.finished += ending.isFinished ? 1 : 0
            cassette.recorded += ending.recorded
            cassette.replayed += ending.replayed
            cassette.verified += ending.verified
            cassette.missed += ending.missed
            cassette.changed += ending.changed
            let outdated = Set(cassette.outdated.map(\.withoutLine))
            cassette.outdated += ending.outdated.filter { !outdated.contains($0.withoutLine) }
            cassette.outdated.sort { $0.number < $1.number }
            if let unplayed = ending.unplayed {
                let left = Set(unplayed.map(\.withoutLine))
                cassette.unplayed = cassette.unplayed.map { $0.filter { left.contains($0.withoutLine) } } ?? unplayed
            }
            for mask in ending.masked where !cassette.masked.contains(mask) { cassette.masked.append(mask) }
        }
    }

    /// Computes the values that follow from those of all files; `unopened` finds the recordings beside some files.
    mutating func conclude(unopened: (_ files: [String]) -> [String]) {
        self.unopened = isPartial ? [] : unopened(cassettes.map(\.file))
        for index in cassettes.indices {
            // The lines are those of the file that a test has opened, and a recording moves them.
            if cassettes[index].recorded > 0 {
                cassettes[index].outdated = cassettes[index].outdated.map(\.withoutLine)
                cassettes[index].unplayed = cassettes[index].unplayed?.map(\.withoutLine)
            }
            let cases = isPartial ? nil : cassettes[index].cases
            let replaced = cases.map { TestCase.replaced(recorded: Set($0.recorded), opened: Set($0.opened)) } ?? [:]
            cassettes[index].changedTests = replaced.keys.sorted()
        }
        unused = cassettes.compactMap { cassette in
            guard !isPartial, cassette.finished == cassette.opened, let unplayed = cassette.unplayed, !unplayed.isEmpty
            else { return nil }
            return Unused(file: cassette.file, recordings: unplayed)
        }
        counts = cassettes.reduce(into: Counts()) { counts, cassette in
            counts.tests += cassette.opened
            counts.recorded += cassette.recorded
            counts.replayed += cassette.replayed
            counts.verified += cassette.verified
            counts.missed += cassette.missed.count
            counts.changed += cassette.changed.count
            counts.outdated += cassette.outdated.count
            counts.masked += cassette.masked.count
        }
        counts.unused = unused.reduce(0) { $0 + $1.recordings.count }
    }

    private mutating func change(_ file: String, _ change: (inout Cassette) -> Void) {
        let index = cassettes.firstIndex { $0.file >= file } ?? cassettes.endIndex
        if index == cassettes.endIndex || cassettes[index].file != file {
            cassettes.insert(Cassette(file: file), at: index)
        }
        change(&cassettes[index])
    }
}

extension CassetteReport.Recording {
    /// The recording, known by its number and its request alone.
    fileprivate var withoutLine: Self {
        var recording = self
        recording.line = nil
        return recording
    }
}
