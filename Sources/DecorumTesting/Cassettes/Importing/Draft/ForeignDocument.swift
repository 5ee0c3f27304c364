public import Foundation

/// A file that another tool wrote, without its compression.
public struct ForeignDocument: Sendable {
    /// The name of the file.
    public let name: String
    /// The content of the file.
    public let bytes: Data
    private let tree: Result<StoredNode, ImportFault>

    init(_ bytes: Data, named name: String, within budget: inout ImportBudget) {
        self.name = name
        self.bytes = bytes
        do throws(ImportFault) {
            tree = .success(StoredNode(try StoredDocument.value(of: bytes, within: &budget)))
        } catch {
            tree = .failure(error)
        }
    }

    /// The content of the file as JSON or YAML.
    ///
    /// Reading it throws ``ImportFault``, with the line, if the file is neither.
    public var root: StoredNode {
        get throws(ImportFault) { try tree.get() }
    }
}
