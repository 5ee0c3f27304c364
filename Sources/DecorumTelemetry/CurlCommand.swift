public import Decorum
import Foundation
import HTTPTypes

extension Request {
    /// Returns the request as a command of curl for a POSIX shell, with variables in place of secrets.
    ///
    /// ```swift
    /// print(request.curlCommand())
    /// ```
    ///
    /// ```
    /// curl 'https://api.example/items?page=2' \
    ///   -H 'Authorization: '"$SECRET_AUTHORIZATION"
    /// ```
    ///
    /// Each secret that the redaction knows or that the request declares is a variable to be set before, with the name of its
    /// field, its item or its member after `SECRET_`, and after `SECRET2_` for a second one of that name. Everything else is
    /// quoted, so that the shell and curl pass on each byte as it is, and control characters are octal numbers of `printf`.
    ///
    /// The command has the fields of the request, not those that layers add, and no body of a HEAD request, which curl refuses.
    /// It has a body in memory in JSON or of a form, up to the limit, and without control characters; any other one is the
    /// file that the variable `BODY` names, since a redaction finds secrets only in values that have names.
    ///
    /// - Parameters:
    ///   - redaction: The secrets that are not shown. `Redaction.none` shows all, in any text.
    ///   - limit: The largest length of a body in bytes that the command shows.
    /// - Returns: The command, with a line for each field, and without a line break at its end.
    public func curlCommand(redacting redaction: Redaction = .standard, bodyUpTo limit: Int = 10_000) -> String {
        var secrets = ShellSecrets(
            redaction.covering(queryItems: options.secretQueryItems), showsAll: redaction == .none)
        var lines = ["curl"]
        var url = head.path ?? "/"
        if let scheme = head.scheme, let authority = head.authority { url = "\(scheme)://\(authority)\(url)" }
        // No argument of a program has this byte.
        url = url.escaping("\0") { _ in "%00" }
        // Curl reads brackets and braces as lists, and removes segments of dots.
        if url.utf8.contains(where: "[]{}".utf8.contains) { lines[0] += " --globoff" }
        if url.contains("/.") { lines[0] += " --path-as-is" }
        switch head.method {
        case .get where body.isEmpty, .post where !body.isEmpty: break
        case .head: lines[0] += " --head"
        default: lines[0] += " -X \(head.method.rawValue.shellQuoted)"
        }
        lines[0] += " " + secrets.quoted(secrets.redaction.applied(toURL: url), "")
        let shown = secrets.redaction.applied(to: head.headerFields, secretFields: options.secretFields)
        // Curl computes the length anew.
        for field in shown where field.name != .contentLength {
            // Curl removes a field without a value, unless a semicolon stands in place of the colon.
            let line = field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
            lines.append("  -H " + secrets.quoted(line, field.name.rawName))
        }
        if !body.isEmpty, head.method != .head {
            // Otherwise curl says that the body is a form.
            if head.headerFields[.contentType] == nil { lines.append("  -H 'content-type:'") }
            lines.append("  " + secrets.bodyOption(body, head.headerFields[.contentType], upTo: limit))
        }
        return lines.joined(separator: " \\\n")
    }
}

/// The variables of a command that stand for secrets.
private struct ShellSecrets {
    /// A redaction whose placeholder occurs in no request.
    private(set) var redaction: Redaction
    private let showsAll: Bool
    private var counts: [String: Int] = [:]

    init(_ redaction: Redaction, showsAll: Bool) {
        (self.redaction, self.showsAll) = (redaction, showsAll)
        self.redaction.placeholder = "DecorumSecret\(SystemGenerator().next())"
    }

    /// A text for the shell; the name of a variable is the one before the secret, or that of a field.
    mutating func quoted(_ text: String, _ field: String) -> String {
        var pieces = text.split(separator: redaction.placeholder, omittingEmptySubsequences: false)[...]
        var command = pieces.removeFirst().description.shellQuoted
        var before = text.prefix(upTo: text.firstRange(of: redaction.placeholder)?.lowerBound ?? text.endIndex)
        for piece in pieces {
            let name = variable(field.isEmpty ? before.lastName : field)
            command += "\"$\(name)\"" + (piece.isEmpty ? "" : String(piece).shellQuoted)
            before = piece
        }
        return command
    }

    private mutating func variable(_ name: String) -> String {
        let variable = String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        let count = counts[variable, default: 0] + 1
        counts[variable] = count
        // Never one that a shell sets itself.
        return "SECRET" + (count > 1 ? "\(count)_" : "_") + variable
    }

    mutating func bodyOption(_ body: Body, _ mediaType: String?, upTo limit: Int) -> String {
        guard showsAll || [.json, .form].contains(ContentKind(mediaType: mediaType)),
            let bytes = body.bytes, bytes.count <= limit,
            let text = String(validating: redaction.applied(to: bytes, mediaType: mediaType), as: UTF8.self),
            text.unicodeScalars.allSatisfy({ $0 == "\n" || $0 == "\t" || !$0.isControl })
        else { return "--data-binary \"@$BODY\"" }
        return "--data-raw " + quoted(text, "")
    }
}

extension String {
    /// The text in single quotes, with control characters as octal numbers that `printf` writes.
    fileprivate var shellQuoted: String {
        var command = ""
        var isQuoted = false
        for scalar in unicodeScalars {
            let isPlain = !scalar.isControl || scalar == "\n" || scalar == "\t"
            if isPlain != isQuoted { command += "'" }
            isQuoted = isPlain
            if scalar == "'" {
                command += #"'\''"#
            } else if isPlain {
                command.unicodeScalars.append(scalar)
            } else {
                let octals = String(scalar).utf8.map { "\\" + String(Int($0) + 0o1000, radix: 8).dropFirst() }
                command += "\"$(printf '\(octals.joined())')\""
            }
        }
        return command.isEmpty ? "''" : command + (isQuoted ? "'" : "")
    }
}

extension Substring {
    /// The last run of letters, digits, `_` and `-`, which is the name in `?token=`, in `"token":"` and in `<token>`.
    fileprivate var lastName: String {
        let isNamed: (Character) -> Bool = { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
        let end = lastIndex(where: isNamed).map(index(after:)) ?? startIndex
        return String(self[..<end].reversed().prefix(while: isNamed).reversed())
    }
}
