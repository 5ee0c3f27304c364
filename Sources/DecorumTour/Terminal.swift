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

    func title(_ text: String) { write("\n\(styled(text, "1"))\n") }
    func heading(_ number: Int, _ text: String) { write("\n\(styled("\(number). \(text)", "1;36"))\n") }
    func code(_ text: String) { write("   \(styled(text, "35"))\n") }
    func text(_ text: String) { write("   \(text)\n") }
    func failure(_ text: String) { write("   \(styled("FAILED", "1;31")) \(text)\n") }
    func log(_ text: String) { write("   \(styled("log ", "2")) \(styled(text, "2"))\n") }
    /// Prints a call of the app, or its result.
    func app(_ text: String) { write("   \(styled("app ", "32")) \(text)\n") }
    /// Prints a part of a message that is sent or received.
    func message(_ text: String) { write("   \(styled("http", "33")) \(text)\n") }
    /// Prints each line of a description.
    func text(lines: some CustomStringConvertible) {
        for line in "\(lines)".split(separator: "\n") { text(String(line)) }
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
        show("→ \(head.method) \(head.authority ?? "")\(head.path ?? "")", head.headerFields)
        let response = try await base.send(request)
        show("← \(response.status.code)", Redaction.standard.applied(to: response.head.headerFields))
        return response
    }

    private func show(_ line: String, _ fields: HTTPFields) {
        terminal.message(line)
        let shown: Set<HTTPField.Name> = [
            .authorization, .contentEncoding, .cookie, .ifNoneMatch, .ifModifiedSince, .eTag, .lastModified, .location,
            .retryAfter,
        ]
        for field in fields where shown.contains(field.name) {
            terminal.message("    \(field.name.rawName): \(field.value)")
        }
    }
}
