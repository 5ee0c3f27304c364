import Decorum
import Foundation
import Synchronization

/// Prints in columns, and with emphasis if the output is a terminal.
final class Terminal: Sendable {
    private let isStyled: Bool
    private let output = Mutex(FileHandle.standardOutput)

    init() {
        let environment = ProcessInfo.processInfo.environment
        isStyled = isatty(FileHandle.standardOutput.fileDescriptor) == 1 && environment["NO_COLOR"] == nil
    }

    func title(_ text: String) {
        write("\n\(styled(text, "1"))\n")
    }

    func heading(_ number: String, _ text: String) {
        write("\n\(styled("\(number). \(text)", "1;36"))\n")
    }

    func code(_ text: String) {
        write("   \(styled(text, "35"))\n")
    }

    func text(_ text: String) {
        write("   \(text)\n")
    }

    /// Prints each line of a description.
    func text(lines: some CustomStringConvertible) {
        for line in "\(lines)".split(separator: "\n") { text(String(line)) }
    }

    /// Prints a call of the app, or its result.
    func app(_ text: String) {
        write("   \(styled("app ", "32")) \(text)\n")
    }

    /// Prints a part of a message that is sent or received.
    func message(_ text: String) {
        write("   \(styled("http", "33")) \(text)\n")
    }

    func log(_ text: String) {
        write("   \(styled("log ", "2")) \(styled(text, "2"))\n")
    }

    func failure(_ text: String) {
        write("   \(styled("FAILED", "1;31")) \(text)\n")
    }

    private func styled(_ text: String, _ code: String) -> String {
        isStyled ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    private func write(_ text: String) {
        // A reader that has closed the pipe, as in `swift run tour | head`, does not make the tour fail.
        output.withLock { try? $0.write(contentsOf: Data(text.utf8)) }
    }
}

extension Connection {
    /// Prints each request that is sent and its response: the tour's own decorator.
    func printingMessages(on terminal: Terminal) -> some Connection {
        MessagePrintingConnection(base: self, terminal: terminal)
    }
}

struct MessagePrintingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let terminal: Terminal

    var layer: Layer {
        Layer(name: "printingMessages", role: .observation, facts: [.records, .redacts])
    }

    func send(_ request: consuming Request) async throws -> Response {
        let head = Redaction.standard.applied(to: request.head)
        terminal.message("→ \(head.method) \(head.authority ?? "")\(head.path ?? "")")
        for field in head.headerFields where Self.shown.contains(field.name) {
            terminal.message("    \(field.name.rawName): \(field.value)")
        }
        let response = try await base.send(request)
        terminal.message("← \(response.status.code)")
        for field in Redaction.standard.applied(to: response.head.headerFields) where Self.shown.contains(field.name) {
            terminal.message("    \(field.name.rawName): \(field.value)")
        }
        return response
    }

    private static var shown: Set<HTTPField.Name> {
        [
            .authorization, .contentEncoding, .cookie, .ifNoneMatch, .ifModifiedSince, .eTag, .lastModified, .location,
            .retryAfter,
        ]
    }
}
