extension TransportError.TLSProblem {
    /// Finds the problem that a TLS library names, in the words of OpenSSL, BoringSSL, GnuTLS or Apple's systems.
    ///
    /// - Parameter words: The words of the library.
    public init?(words: String) {
        let words = words.lowercased()
        guard let row = Self.table.first(where: { row in row.phrases.contains { words.contains($0) } }) else {
            return nil
        }
        self = row.problem
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
                "does not match", "no alternative certificate subject name", "mismatch", "validatehostname",
                "other hosts",
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
        (.unverified, ["certificate verif", "certificate is invalid", "cannot authenticate"]),
    ]
}
