/// The method of a request as a file spells it.
enum ImportedMethod {
    private static let registered: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
    ]

    /// The method in the case in which it was sent.
    ///
    /// Methods are case-sensitive (RFC 9110, section 9.1), so one that is not registered stays as it is. Some tools
    /// write registered methods in lower case, which is not how they were sent.
    static func method(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "GET" }
        let uppercased = text.uppercased()
        return registered.contains(uppercased) ? uppercased : text
    }
}
