public import Decorum
import Foundation

/// A cassette was not written, because it would be too large.
///
/// See ``CassetteRules/sizeLimit``.
public struct CassetteSizeError: Error, Hashable, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The size that it would have with the files beside it, in bytes.
    public let size: Int
    /// The largest size that the rules allow, in bytes.
    public let limit: Int
    /// The largest recordings, each with its size, its method and its URL, redacted.
    public let largest: [String]
}

extension CassetteSizeError: DescribableError {
    /// The size, the largest recordings, and how to leave them out.
    public var description: String {
        let shown = largest.map { "\n  \($0)" }.joined()
        return
            "The cassette \(file) would have \(size) bytes, and at most \(limit) are written. The largest are:\(shown)\n"
            + "fix: leave one out with `rules.beforeRecording` or `rules.passedHosts`, ask the server for less, or raise "
            + "`rules.sizeLimit`"
    }
}

extension Cassette {
    /// Throws if a file, with those beside it, is larger than the rules allow.
    func checkSize(of document: CassetteDocument, _ interactions: [SavedInteraction]) throws {
        let size = document.files.values.reduce(document.bytes.count) { $0 + $1.count }
        guard size > rules.sizeLimit else { return }
        let recorded = interactions.compactMap { saved in
            if case .recorded(let interaction) = saved { interaction } else { nil as Interaction? }
        }
        let scanner = SecretScanner(rules)
        let largest = recorded.sorted { $0.size > $1.size }.prefix(5).map { interaction in
            "\(interaction.size) bytes  "
                + scanner.masked("\(interaction.request.method) \(interaction.request.url)")
        }
        throw CassetteSizeError(file: file.relativePath, size: size, limit: rules.sizeLimit, largest: largest)
    }
}

extension Interaction {
    /// The bytes of both contents.
    fileprivate var size: Int { request.body.bytes.count + (response?.body.bytes.count ?? 0) }
}
