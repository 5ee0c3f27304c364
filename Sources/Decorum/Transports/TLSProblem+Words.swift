extension TransportError.TLSProblem {
    /// Finds the problem that a TLS library names, in the words of OpenSSL, BoringSSL, GnuTLS or Apple's systems.
    ///
    /// The names of hosts and files among the words have no effect.
    ///
    /// - Parameter words: The words of the library.
    public init?(words: String) {
        self.init(words: words, mayBeAlert: true)
    }

    /// Finds the problem, which can be ``refused`` only where the server may have sent an alert.
    init?(words: String, mayBeAlert: Bool) {
        // The words of a library are short, and those that it repeats of a server need not be.
        let text = " " + Self.withoutNames(words.cut(toBytes: 1024).lowercased()) + " "
        let row = Self.table.first { row in
            (mayBeAlert || row.problem != .refused) && row.phrases.contains { text.contains(" \($0) ") }
        }
        guard let row else { return nil }
        self = row.problem
    }

    /// The words with one blank between them, without quoted text, hosts, addresses and paths.
    private static func withoutNames(_ words: String) -> String {
        words
            .replacing(/(^|[\s(])(?:'[^']*'|"[^"]*"|“[^”]*”)/) { " \($0.1)" }
            .replacing(/\bconnection to \S+/, with: " ")
            // A word with a dot, a colon and a port, or a slash within it is the name of a host or a file. Names that
            // start with the name of a module are of errors.
            .replacing(/(?:nio|boring)ssl\w*\./, with: " ")
            .replacing(/[\w\-\*]*[\w\-\*][.\/][\w\-][\w\-.\/]*(?::[0-9]+)?/, with: " ")
            .replacing(/\b[a-z][\w\-]*:[0-9]+\b/, with: " ")
            .split { !$0.isLetter && !$0.isNumber && $0 != "-" }
            .joined(separator: " ")
    }

    // The first row with a phrase counts. An alert comes from the server, and names the client's certificate.
    private static let table: [(problem: Self, phrases: [String])] = [
        (.refused, ["alert"]),
        (.wrongKey, ["pinned"]),
        (.unusableIdentity, ["could not load", "unable to set private key", "problem with the local ssl certificate"]),
        (.expired, ["expired"]),
        (.notYetValid, ["not yet valid", "not yet activated", "not valid until"]),
        (
            .wrongName,
            [
                "does not match", "no alternative certificate subject name", "mismatch",
                "failedtovalidatehostname", "other hosts",
            ]
        ),
        (
            .untrusted,
            [
                "self-signed", "self signed", "unable to get local issuer", "unable to get issuer", "signer not found",
                "issuer is unknown", "issuer is not known", "untrusted", "unknown ca", "unknown root",
            ]
        ),
        (
            .noTLS,
            [
                "wrong version number", "unexpected tls packet", "packet length too long",
                "http request", "record overflow", "unexpected message",
            ]
        ),
        (
            .unverified,
            [
                "certificate verify", "certificate verification", "certificate is invalid", "cannot authenticate",
            ]
        ),
    ]
}

extension TransportError.TLSProblem {
    /// Finds the problem that `SecTrustEvaluateWithError` of Apple's systems reports.
    init(trustStatus status: Int) {
        self =
            switch status {
            // errSecCertificateExpired, errSecCertificateNotValidYet and errSecHostNameMismatch.
            case -67818: .expired
            case -67819: .notYetValid
            case -67602: .wrongName
            // errSecNotTrusted and errSecCreateChainFailed.
            case -67843, -25318: .untrusted
            default: .unverified
            }
    }
}
