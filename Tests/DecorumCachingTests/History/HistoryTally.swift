import Decorum
import Foundation

/// The results of a history.
struct HistoryTally: Sendable {
    private(set) var reads = 0
    private(set) var hits = 0
    private(set) var confirmed = 0
    private(set) var shared = 0
    /// How often each mistake was made, and how often a read failed.
    private(set) var mistakes: [HistoryModel.Mistake: Int] = [:]
    private(set) var failures = 0
    /// The first mistakes and failures, with the seeds that lead to them.
    private(set) var examples: [String] = []

    var isRight: Bool { mistakes.isEmpty && failures == 0 }

    mutating func judge(_ response: Response, _ content: Data, for read: HistoryModel.Read, _ name: String) {
        reads += 1
        hits += response.metadata.source == .cache ? 1 : 0
        confirmed += response.metadata.source == .revalidated ? 1 : 0
        shared += response.metadata.isCoalesced ? 1 : 0
        let answer = HistoryModel.Answer(response, content)
        let made = HistoryModel.mistakes(in: answer, to: read)
        guard !made.isEmpty else { return }
        for mistake in made { mistakes[mistake, default: 0] += 1 }
        note("\(name): \(made.map(\.rawValue).sorted()), \(response.metadata.source ?? .stub), \(answer) to \(read)")
    }

    mutating func fail(_ error: any Error, _ name: String) {
        guard !(error is CancellationError) else { return }
        failures += 1
        note("\(name): \(error)")
    }

    mutating func add(_ other: HistoryTally) {
        reads += other.reads
        hits += other.hits
        confirmed += other.confirmed
        shared += other.shared
        failures += other.failures
        mistakes.merge(other.mistakes, uniquingKeysWith: +)
        for example in other.examples { note(example) }
    }

    private mutating func note(_ example: String) {
        if examples.count < 5 { examples.append(example) }
    }
}

extension HistoryTally: CustomStringConvertible {
    var description: String {
        let counts = mistakes.map { "\($0.key): \($0.value)" }.sorted().joined(separator: ", ")
        return """
            \(reads) reads, \(hits) hits, \(confirmed) confirmed, \(shared) shared; \(failures) failures, [\(counts)]
            \(examples.joined(separator: "\n"))
            """
    }
}
