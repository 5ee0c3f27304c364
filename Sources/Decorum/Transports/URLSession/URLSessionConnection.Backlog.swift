extension URLSessionConnection {
    /// How much of a response may wait for its reader, once the reader is slower than the server.
    public struct Backlog: Sendable, Hashable {
        /// The number of bytes that may wait in memory.
        public let memory: Int
        /// The number of bytes that may wait in a temporary file.
        public let disk: Int64

        /// Creates bounds; a negative number counts as 0.
        ///
        /// - Parameters:
        ///   - memory: The number of bytes that may wait in memory; one chunk of the network's always may.
        ///   - disk: The number of bytes that may wait in a temporary file, beyond those in memory.
        public init(memory: Int = 1 << 20, disk: Int64 = 1 << 30) {
            self.memory = max(memory, 0)
            self.disk = max(disk, 0)
        }
    }
}

extension URLSessionConnection.Backlog: CustomStringConvertible {
    /// Both bounds, in words.
    public var description: String { "\(memory) bytes in memory, \(disk) on disk" }
}
