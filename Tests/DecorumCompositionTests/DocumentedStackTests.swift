import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The stacks of the documentation pass the check.
///
/// Each chain of modifiers in a listing is composed again, in its order.
@Suite struct DocumentedStackTests {
    private typealias Modifier = @Sendable (_ base: any Connection, _ arguments: String) throws -> any Connection

    private static let modifiers: [String: Modifier] = [
        "acting": { base, _ in base.acting(for: Principal("user")) },
        "acceptingLanguages": { base, _ in try base.acceptingLanguages(["en"]) },
        "addingDefaultFields": { base, _ in base.addingDefaultFields([.accept: "*/*"]) },
        "addingIdempotencyKey": { base, _ in base.addingIdempotencyKey() },
        "addingRequestID": { base, _ in base.addingRequestID() },
        "answeringOffline": { base, _ in
            base.intercepting("answeringOffline", facts: [.answers, .sharesResponses]) { try await $1.send($0) }
        },
        "authenticating": { base, arguments in
            if arguments.contains("from:") { return base.authenticating(from: CountingSource(), for: site) }
            let isSigned = arguments.contains("sign")
            return try base.authenticating(with: isSigned ? .signer(VisibleSigner()) : .bearer("t"), for: site)
        },
        "caching": { base, _ in base.caching(in: MemoryResponseStore()) },
        "coalescing": { base, _ in base.coalescing() },
        "compressing": { base, _ in base.compressing() },
        "decompressing": { base, _ in base.decompressing() },
        "followingRedirects": { base, _ in base.followingRedirects() },
        "identifyingClient": { base, _ in base.identifyingClient(as: try ClientInformation(name: "test")) },
        "limitingTime": { base, arguments in
            if arguments.contains(".attempt") { return base.limitingTime(as: .attempt) }
            return base.limitingTime()
        },
        "logging": { base, arguments in
            base.logging(to: LogSink { _ in }, redacting: arguments.contains("redacting: .none") ? .none : .standard)
        },
        "observing": { base, arguments in
            base.observing(as: arguments.contains(".attempt") ? .attempt : .call) { _ in }
        },
        "overridingFields": { base, _ in base.overridingFields(with: [.accept: "*/*"]) },
        "pacing": { base, _ in base.pacing() },
        "resolving": { base, _ in try base.resolving(against: "https://a.example/") },
        "retrying": { base, _ in base.retrying() },
        "revalidating": { base, _ in base.revalidating(in: MemoryResponseStore()) },
        "validatingStatus": { base, _ in base.validatingStatus() },
    ]

    /// Hazards of that which is left out, as an example leaves much out.
    private static let omissions: Set<Hazard> = ["principalMissing", "unlimitedCall", "callsUnseen"]
    /// The page whose listings show mistakes.
    private static let pageOfMistakes = "checking-a-stack.md"

    @Test func `No listing shows a wrong order, and a whole stack has no findings at all`() throws {
        var (count, whole) = (0, 0)
        for document in try Self.documents() where !document.hasSuffix(Self.pageOfMistakes) {
            let text = try SourceText.file(document).text
            for chain in Self.listings(of: text).flatMap(Self.chains) where chain.count > 1 {
                var connection: any Connection = ClosureConnection(named: "transport", choosingFrom: []) { _ in .page }
                for (name, arguments) in chain {
                    connection = try Self.modifiers[name]?(connection, arguments) ?? connection
                }
                let isWhole = chain.count >= 8
                let findings = connection.findings.filter { isWhole || !Self.omissions.contains($0.hazard) }
                #expect(findings.isEmpty, "\(document): \(chain.map(\.name)) \(findings)")
                count += 1
                whole += isWhole ? 1 : 0
            }
        }
        #expect(count > 15 && whole >= 2, "\(count) chains, \(whole) of them whole stacks")
    }

    @Test func `A chain is read with its arguments, up to the end of the statement`() {
        let listing = """
            let connection = try SystemConnection()
                .authenticating(with: .bearer(token), for: api)
                .intercepting { request, base in base.retrying() }
                .limitingTime(as: .attempt)
            let other = stub.retrying().pacing(); print(1)
            """
        #expect(
            Self.chains(in: listing).map { $0.map(\.name) }
                == [["authenticating", "limitingTime"], ["retrying", "pacing"]])
        #expect(Self.chains(in: listing).first?.last?.arguments == "as: .attempt")
    }

    private static func documents() throws -> [String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: SourceText.root.appending(path: "Sources").path)
        return ["README.md"]
            + paths.filter { $0.hasSuffix(".md") || $0.hasSuffix(".swift") }.sorted().map { "Sources/" + $0 }
    }

    /// The Swift listings of a page, or of the documentation comments of a file.
    private static func listings(of text: String) -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            return trimmed.hasPrefix("///") ? String(trimmed.dropFirst(3)) : String(line)
        }
        let parts = lines.split { $0.trimmingCharacters(in: .whitespaces).hasPrefix("```swift") }
        return parts.dropFirst().map { part in
            part.prefix { !$0.trimmingCharacters(in: .whitespaces).hasPrefix("```") }.joined(separator: "\n")
        }
    }

    /// The chains of known modifiers, one for each statement, innermost first.
    private static func chains(in listing: String) -> [[(name: String, arguments: String)]] {
        statements(of: listing).map(modifiers(in:)).filter { !$0.isEmpty }
    }

    /// The statements of a listing: a line that begins with a point, and one inside of brackets, continues the last one.
    private static func statements(of listing: String) -> [String] {
        var statements: [String] = []
        var depth = 0
        for line in listing.split(separator: "\n") {
            let line = line.trimmingCharacters(in: .whitespaces)
            if depth > 0 || line.hasPrefix("."), !statements.isEmpty {
                statements[statements.count - 1] += "\n" + line
            } else {
                statements.append(line)
            }
            depth += line.count { "({[".contains($0) } - line.count { ")}]".contains($0) }
        }
        return statements
    }

    /// The known modifiers of a statement that stand outside of all brackets, and those of functions that are declared.
    private static func modifiers(in statement: String) -> [(name: String, arguments: String)] {
        var found: [(name: String, arguments: String)] = []
        var depth = 0
        var index = statement.startIndex
        while index < statement.endIndex {
            let character = statement[index]
            if "({[".contains(character) { depth += 1 }
            if ")}]".contains(character) { depth -= 1 }
            index = statement.index(after: index)
            guard character == ".", depth == 0 else { continue }
            let name = String(statement[index...].prefix { $0.isLetter })
            let rest = statement[index...].dropFirst(name.count)
            guard Self.modifiers[name] != nil, rest.first == "(" else { continue }
            var open = 0
            let arguments = rest.prefix { character in
                open += character == "(" ? 1 : character == ")" ? -1 : 0
                return open > 0
            }
            found.append((name, String(arguments.dropFirst())))
        }
        return found
    }
}
