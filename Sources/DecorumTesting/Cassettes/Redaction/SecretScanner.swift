package import Foundation

/// The last gate before a cassette is written: it finds what still looks like a secret.
///
/// It knows the shapes of tokens, and the values that the environment holds under names like `API_TOKEN`, as they are,
/// percent-encoded, escaped or in Base64. Pseudonyms, and what documents put in the place of a token, are not found. It
/// reads bytes once and in a time that grows with their number.
package struct SecretScanner: Sendable {
    private let variables: EnvironmentSecrets
    private let allowedTexts: Set<[UInt8]>
    private let allowedKinds: Set<SecretKind>

    /// Creates a scanner.
    ///
    /// - Parameters:
    ///   - environment: The environment variables.
    ///   - allowances: What may be in the file all the same.
    package init(environment: [String: String], allowing allowances: [SecretAllowance] = []) {
        var texts: Set<[UInt8]> = []
        var kinds: Set<SecretKind> = []
        for allowance in allowances {
            switch allowance.rule {
            case .text(let text): texts.insert(Array(text.utf8))
            case .kind(let kind): kinds.insert(kind)
            }
        }
        allowedTexts = texts
        allowedKinds = kinds
        variables = EnvironmentSecrets(environment, allowed: texts)
    }

    /// Throws where a file would hold a secret.
    ///
    /// - Parameters:
    ///   - text: All that is to be written.
    ///   - file: The name of the file, for the error.
    /// - Throws: ``SecretFoundError``.
    package func check(_ text: Data, file: String) throws {
        let findings = findings(in: text)
        guard findings.isEmpty else { throw SecretFoundError(file: file, findings: findings) }
    }

    /// Finds what looks like a secret.
    ///
    /// - Parameter text: All that is to be written.
    /// - Returns: The findings, in their order in the file.
    package func findings(in text: Data) -> [SecretFoundError.Finding] {
        let bytes = Array(text)
        var hits: [SecretHit] = []
        if !allowedKinds.contains(.environment) { hits += variables.hits(in: bytes) }
        hits += SecretHits.all(in: bytes).filter { hit in
            !allowedKinds.contains(hit.kind) && !allowedTexts.contains(Array(bytes[hit.range]))
        }
        guard !hits.isEmpty else { return [] }

        var places = TextPlaces(bytes, hits: hits.map(\.range))
        return hits.sorted { $0.range.lowerBound < $1.range.lowerBound }.map { hit in
            let place = places.place(of: hit.range.lowerBound)
            return SecretFoundError.Finding(
                kind: hit.kind, variable: hit.variable, path: place.path, line: place.line)
        }
    }
}

/// Where something like a secret stands.
struct SecretHit: Sendable {
    let kind: SecretKind
    let range: Range<Int>
    var variable: String?
}
