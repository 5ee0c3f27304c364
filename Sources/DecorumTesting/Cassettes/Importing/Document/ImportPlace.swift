/// A place in a file that is imported.
struct ImportPlace: Sendable, Hashable, CustomStringConvertible {
    /// The path, such as `$.interactions[0]`.
    let path: String
    let line: Int?

    var description: String { path + (line.map { ", line \($0)" } ?? "") }
}
