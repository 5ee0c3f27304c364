#if CommandLine
import ArgumentParser
import Decorum
import Foundation

typealias DoctorItem = (name: String, value: String, problem: String?)

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Tells which transport, certificates and proxies are used, and what is missing.",
        discussion: "The exit status is 69 if something is missing without which requests fail, or have limits.")

    @OptionGroup(title: "OUTPUT") var output: FindingOptions

    func run() throws {
        let (environment, console) = (ProcessInfo.processInfo.environment, Console(output.options))
        var items: [DoctorItem] = [("version", PackageVersion.current, nil)] + Self.transport(environment: environment)
        items.append(Self.roots(environment: environment))
        for (name, terminal) in [("standard output", console.output), ("standard error", console.talk)] {
            let size = "a terminal, \(terminal.width) columns, \(terminal.hasColor ? "with" : "without") colours"
            items.append((name, terminal.isTerminal ? size : "no terminal", nil))
        }
        let objects = items.map { ["name": $0.name, "value": $0.value, "problem": $0.problem] as JSONObject }
        try output.write(
            ["items": objects], orLines: items.flatMap { ["\($0): \($1)"] + ($2.map { ["  \($0)"] } ?? []) })
        if items.contains(where: { $0.problem != nil }) { throw CommandFailure(.unavailable, nil) }
    }

    static func roots(
        environment: [String: String], exists: (String) -> Bool = FileManager.default.fileExists(atPath:)
    ) -> DoctorItem {
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
            guard let path = environment[name], !path.isEmpty else { continue }
            return ("certificates", "\(path), by \(name)", exists(path) ? nil : "It does not exist.")
        }
        // The places at which systems keep the certificates that they trust.
        let files = ["certs/ca-certificates.crt", "ca-bundle.pem", "cert.pem"].map { "/etc/ssl/\($0)" }
        let file = (files + ["/etc/pki/tls/certs/ca-bundle.crt"]).first(where: exists)
        let problem = file == nil ? "Install the package ca-certificates, or set SSL_CERT_FILE." : nil
        return ("certificates", file ?? "none found", problem)
    }
}
#endif
