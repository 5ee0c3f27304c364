/// The requests of a rewritten cassette that have not changed.
extension RecordingMerge {
    /// The recordings, each with the request of the interaction that it replaces where that is the same request.
    ///
    /// The boundary of a multipart body and the identifiers of a request are made anew for each run. With them, an unchanged
    /// upload would be a change of the file, and its content a file of another name, whenever the answer is a new one.
    func keepingRequests(of recorded: [Interaction], _ way: CassetteCourse.Merge) -> [Interaction] {
        let test: String?
        switch way {
        case .replacement: test = nil
        case .test(let name, isReplaced: true): test = name
        case .nothing, .addition, .union, .test(_, isReplaced: false): return recorded
        }
        guard content.count > 0 else { return recorded }
        var known = ordinals(of: content, answering: recorded).mapValues { places in
            places.filter { place in
                let tests = content.tests(of: place)
                return test.map { tests.isEmpty || tests.contains($0) } ?? true
            }
        }
        return recorded.map { interaction in
            let key = key(of: redactor.matchable(interaction.request))
            let essence = essence(of: interaction.request)
            for (index, place) in (known[key] ?? []).enumerated() {
                guard let old = try? content.request(at: place), self.essence(of: old) == essence else { continue }
                known[key]?.remove(at: index)
                var kept = interaction
                kept.request = old
                return kept
            }
            return interaction
        }
    }

    private func essence(of request: RecordedRequest) -> InteractionEssence {
        InteractionEssence(Interaction(request: request), rules, erasingPlaceholders: false)
    }
}
