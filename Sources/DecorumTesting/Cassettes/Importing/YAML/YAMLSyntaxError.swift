/// Where a document is not the part of YAML that cassettes are written in, and why.
struct YAMLSyntaxError: Error, Hashable, Sendable {
    /// What is wrong, as a clause.
    let reason: String
    /// The line, counted from 1, on which it shows.
    let line: Int
}
