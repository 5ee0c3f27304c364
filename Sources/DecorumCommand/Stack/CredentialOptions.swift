#if CommandLine
import ArgumentParser
import Decorum
import Foundation

/// The options for credentials, which only the origin of the URL gets.
struct CredentialOptions: ParsableArguments {
    @Option(help: "Send a bearer token: @FILE, env:NAME or prompt.") var bearer: SecretSource?
    @Option(help: "Send the bearer token of an environment variable.") var bearerEnv: String?
    @Option(name: .shortAndLong, help: .init("Send a name and a password, as in ann:@FILE.", valueName: "name:secret"))
    var user: String?
    @Option(help: "How they are sent; digest needs the trait Signing.") var auth = Scheme.basic
    @Flag(help: "Take them from ~/.netrc, or from the file of NETRC.") var netrc = false
    @Option(help: "Sign as sigv4:REGION:SERVICE, rfc9421:KEYFILE[:KEYID] or dpop:KEYFILE; needs the trait Signing.")
    var sign: String?

    enum Scheme: String, ExpressibleByArgument, CaseIterable, Sendable { case basic, digest }

    /// The credentials for an origin, or for the base URL of the stack; nil without an option that asks for them.
    func authentication(
        for origin: Origin?, over network: any Connection, environment: [String: String], clock: any DatedClock,
        console: Console
    ) throws -> StandardStack.Authentication? {
        let isAlone = sign?.hasPrefix("dpop:") == false
        guard [bearer != nil, bearerEnv != nil, user != nil, netrc, isAlone].count(where: { $0 }) <= 1 else {
            throw CommandFailure(.usage, "Several kinds of credentials are asked for. Choose one of them.")
        }
        guard auth == .basic || user != nil else {
            throw CommandFailure(.usage, "The scheme digest sends a name and a password. Add --user.")
        }
        let origins: Set<Origin> = origin.map { [$0] } ?? []
        let source = bearer ?? bearerEnv.map { SecretSource(argument: "env:\($0)") }
        let token = try source?.secret(for: "token", console: console)
        if let sign { return try Self.signing(sign, token, for: origins, over: network, clock: clock) }
        if let token { return .with(try .bearer(token), for: origins) }
        if netrc {
            guard let host = origin?.host else { throw CommandFailure(.usage, "A netrc file needs a URL with a host.") }
            let path = environment["NETRC"] ?? environment["HOME", default: ""] + "/.netrc"
            return try Self.netrcEntry(for: host, in: InputFile.text(path)).map { words in
                let word = { String(words[$0, default: ""]) }
                return .with(try .basic(user: word("login"), password: word("password")), for: origins)
            }
        }
        guard let parts = user?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        else { return nil }
        let password = try SecretSource(argument: parts.count > 1 ? parts[1] : "prompt")
            .secret(for: "password of \(parts[0])", console: console)
        return auth == .basic
            ? .with(try .basic(user: parts[0], password: password), for: origins)
            : try Self.signing("digest:\(parts[0])", password, for: origins, over: network, clock: clock)
    }

    /// The words of the entry for a host in a netrc file, or else of the default one.
    static func netrcEntry(for host: String, in text: String) -> [Substring: Substring]? {
        let lines = text.split(whereSeparator: \.isNewline).filter { $0.first { !$0.isWhitespace } != "#" }
        // A word in quotes may have blanks, and any character after a backslash.
        var words = lines.flatMap { $0.matches(of: /"((?:[^"\\]|\\.)*)"|\S+/) }
            .map { $0.1.map { $0.replacing(/\\(.)/) { $0.1 } } ?? $0.0 }[...]
        var entry: [Substring: Substring]?
        while let word = words.popFirst(), entry == nil || !["machine", "default"].contains(word) {
            switch word {
            case "default": entry = [:]
            case "machine", "login", "password", "account":
                let value = words.popFirst()
                if word == "machine", value?.lowercased() == host { entry = [:] } else { entry?[word] = value }
            default: break
            }
        }
        return entry
    }
}
#endif
