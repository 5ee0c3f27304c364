import Decorum
import DecorumArchive
package import Foundation

/// The last gate before a cassette is written: it finds texts that still look like secrets.
///
/// It knows the shapes of tokens, and the values that the environment holds under names like `API_TOKEN`, as they are,
/// percent-encoded, escaped or in Base64. Pseudonyms, and the placeholders that documents use for tokens, are not
/// found. It reads each byte once, in linear time.
package struct SecretScanner: Sendable {
    private let variables: EnvironmentSecrets
    private let allowedTexts: Set<[UInt8]>
    private let allowedKinds: Set<SecretKind>

    /// Creates a scanner.
    ///
    /// - Parameters:
    ///   - environment: The environment variables.
    ///   - allowances: The texts and kinds that may be in the file nevertheless.
    ///   - left: The texts that the rules have left by their places.
    package init(
        environment: [String: String], allowing allowances: [SecretAllowance] = [], leaving left: Set<[UInt8]> = []
    ) {
        var texts = left
        var kinds: Set<SecretKind> = []
        for allowance in allowances {
            switch allowance.rule {
            case .text(let text): texts.insert(Array(text.utf8))
            case .kind(let kind): kinds.insert(kind)
            case .field, .item, .json: break
            }
        }
        allowedTexts = texts
        allowedKinds = kinds
        variables = EnvironmentSecrets(environment, allowed: texts)
    }

    /// Creates a scanner for the cassettes of this process.
    init(_ rules: CassetteRules, leaving left: Set<[UInt8]> = []) {
        self.init(
            environment: rules.environment ?? ProcessInfo.processInfo.environment, allowing: rules.allowedSecrets,
            leaving: left)
    }

    /// Throws if a file would hold a secret.
    ///
    /// - Parameters:
    ///   - text: The whole content to be written.
    ///   - file: The name of the file, for the error.
    ///   - known: The ranges in it of secrets that are already known.
    /// - Throws: ``SecretFoundError``.
    package func check(_ text: Data, file: String, known: [Range<Int>] = []) throws {
        let findings = findings(in: text, known: known)
        guard findings.isEmpty else { throw SecretFoundError(file: file, findings: findings) }
    }

    /// Throws because content cannot be searched, unless the rules allow it.
    ///
    /// `exchange` is the method and the URL of its request, redacted.
    func checkUnsearched(file: String, exchange: String) throws {
        guard !allowedKinds.contains(.unsearchedContent) else { return }
        let finding = SecretFoundError.Finding(kind: .unsearchedContent, variable: nil, path: nil, line: 1)
        throw SecretFoundError(file: file, findings: [finding], exchange: masked(exchange))
    }

    /// Finds texts that look like secrets.
    ///
    /// - Parameters:
    ///   - text: The whole content to be written.
    ///   - known: The ranges in it of secrets that are already known.
    /// - Returns: The findings, in their order in the file.
    package func findings(in text: Data, known: [Range<Int>] = []) -> [SecretFoundError.Finding] {
        let bytes = Array(text)
        var hits = hits(in: bytes)
        let shaped = hits.map(\.range)
        hits += allowed(known.map { SecretHit(kind: .knownSecret, range: $0) }, in: bytes)
            .filter { hit in !shaped.contains { $0.overlaps(hit.range) } }
        guard !hits.isEmpty else { return [] }

        var places = TextPlaces(bytes, hits: hits.map(\.range))
        return hits.sorted { $0.range.lowerBound < $1.range.lowerBound }.map { hit in
            let place = places.place(of: hit.range.lowerBound)
            return SecretFoundError.Finding(
                kind: hit.kind, variable: hit.variable, path: place.path, line: place.line)
        }
    }

    /// The places in bytes of texts that look like secrets, in no order.
    func hits(in bytes: [UInt8]) -> [SecretHit] {
        let values = allowedKinds.contains(.environment) ? [] : variables.hits(in: bytes)
        return values + allowed(SecretHits.all(in: bytes), in: bytes)
    }

    private func allowed(_ hits: [SecretHit], in bytes: [UInt8]) -> [SecretHit] {
        hits.filter { hit in
            !allowedKinds.contains(hit.kind) && !allowedTexts.contains(Array(bytes[hit.range]))
        }
    }
}

extension SecretScanner {
    /// Shows a text with a placeholder for each part that looks like a secret, for example in a message to a person.
    ///
    /// - Parameter text: The text, from which nothing may have been cut off.
    /// - Returns: The text.
    package func masked(_ text: String) -> String {
        masked(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Shows bytes with a placeholder for each part that looks like a secret; nil if there is none.
    ///
    /// - Parameter bytes: The bytes, from which nothing may have been cut off.
    /// - Returns: The bytes.
    package func masked(_ bytes: [UInt8]) -> [UInt8]? {
        let hits = hits(in: bytes).sorted { $0.range.lowerBound < $1.range.lowerBound }
        guard !hits.isEmpty else { return nil }
        var output: [UInt8] = []
        var copied = 0
        for hit in hits where hit.range.upperBound > copied {
            if hit.range.lowerBound >= copied {
                output += bytes[copied..<hit.range.lowerBound]
                output += Pseudonym.erasedText.utf8
            }
            // For a private key, only its heading is a hit.
            let end = hit.range.upperBound
            copied = hit.kind == .privateKey ? TokenSearch.endOfKey(in: bytes[...], from: end) : end
        }
        return output + bytes[copied...]
    }
}

/// The place of a text that looks like a secret.
struct SecretHit: Sendable {
    let kind: SecretKind
    let range: Range<Int>
    var variable: String?
}
