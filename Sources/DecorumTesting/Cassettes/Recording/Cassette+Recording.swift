import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// Reserves the place of an exchange that begins now.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - items: The items of its query that are declared secret, which the fields of the response may repeat.
    /// - Returns: The recording of the exchange.
    func record(_ request: RecordedRequest, masking items: Set<String>) -> ExchangeRecording {
        state.withLock { state in
            state.eventCount += 1
            let recording = ExchangeRecording(
                request, masking: items, sent: state.eventCount, rules: rules, date: clock.recordingDate)
            state.recordings.append(recording)
            return recording
        }
    }

    /// Records the head of a response, and its content as it arrives.
    func record(_ response: Response, in recording: ExchangeRecording) -> Response {
        recording.record(response, answered: nextEvent(), clock: clock, spawner: spawner)
    }

    /// Records the failure of an exchange without a response.
    func record(_ error: any Error, in recording: ExchangeRecording) {
        recording.record(error, answered: nextEvent())
    }

    private func nextEvent() -> Int {
        state.withLock { state in
            state.eventCount += 1
            return state.eventCount
        }
    }

    /// Waits until the responses have been read to their ends, or to the limits.
    func endRecordings() async {
        let recordings = state.withLock { $0.recordings }
        for recording in recordings { recording.begin() }
        for recording in recordings { await recording.end() }
    }

    /// The recorded interactions, without their secrets, in the order of the file; for each the events from its sending to its
    /// answer; and the redactor.
    ///
    /// A request that was not answered in time is left out.
    func recorded() throws -> (interactions: [Interaction], events: [Range<Int>], redactor: CassetteRedactor) {
        let recordings = state.withLock { $0.recordings }
        var recorded: [(interaction: Interaction, sent: Int, answered: Int)] = []
        for (index, recording) in recordings.enumerated() {
            guard let answered = recording.answered, let interaction = try recording.interaction(),
                let interaction = try rules.rewritten(interaction, number: index + 1, of: file)
            else { continue }
            recorded.append((interaction, recording.sent, answered))
        }
        if rules.order == .any {
            let exchanges = recorded.map { interaction, sent, answered in
                SendingOrder.Exchange(
                    sent: sent, answered: answered, text: RequestText(redactor.matchable(interaction.request)))
            }
            recorded = SendingOrder.sorted(exchanges).map { recorded[$0] }
        }
        // The placeholders of other tests are not reserved, so that a test has the same ones whichever test was first.
        let foreign = InteractionOwners(of: opened, for: opening).foreign
        let naming = CassetteRedactor(rules, continuing: mode == .append ? opened.text(without: foreign) : [])
        return (naming.redacted(recorded.map(\.interaction)), recorded.map { $0.sent..<$0.answered }, naming)
    }
}

extension CassetteRules {
    /// The interaction to record; nil where the rules leave it out.
    fileprivate func rewritten(_ interaction: Interaction, number: Int, of file: URL) throws -> Interaction? {
        var interaction = interaction
        if content == .decoded { interaction.decodeContent() }
        if let beforeRecording {
            guard let rewritten = beforeRecording(interaction) else { return nil }
            interaction = rewritten
        }
        interaction.request.sortMembers()
        if content == .decoded { try interaction.checkCoding(number: number, file: file.relativePath) }
        return interaction
    }
}
