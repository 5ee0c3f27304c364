/// The bodies that are being received for a ``MemoryResponseStore``, and the number of bytes that they take.
struct IncomingBodies {
    private struct Entry {
        let content: IncomingContent
        var byteCount = 0
        /// The number of writes to all bodies before this one began.
        let start: UInt64
        /// The position of the latest write to this body among all writes.
        var lastWrite: UInt64
        /// The identifier in the order of latest writes, once there was one.
        var identifier: Int?
    }

    private let byteLimit: Int
    private let bodyLimit: Int
    private(set) var byteCount = 0
    private var entries: [Int: Entry] = [:]
    private var lastNumber = 0
    private var writeCount: UInt64 = 0
    /// The bodies that take bytes, in the order of their latest writes.
    private var order = RecencyOrder()
    /// The numbers of the bodies by their identifiers in that order.
    private var numbers: [Int: Int] = [:]

    /// Creates a count without bodies.
    ///
    /// - Parameters:
    ///   - byteLimit: The largest number of bytes that all bodies take together.
    ///   - bodyLimit: The largest number of bytes of one body.
    init(byteLimit: Int, bodyLimit: Int) {
        self.byteLimit = byteLimit
        self.bodyLimit = bodyLimit
    }

    /// Starts to count a body; returns its number.
    mutating func begin(_ content: IncomingContent) -> Int {
        lastNumber += 1
        entries[lastNumber] = Entry(content: content, start: writeCount, lastWrite: writeCount)
        return lastNumber
    }

    /// Counts more bytes of a body.
    ///
    /// Where there is no room, bodies are let go that have stood still since this body began.
    ///
    /// - Returns: Whether there is room, and the contents that are let go; without room, the body itself is let go.
    mutating func reserve(_ count: Int, for number: Int) -> (isReserved: Bool, released: [IncomingContent]) {
        guard let entry = entries[number] else { return (false, []) }
        var released: [IncomingContent] = []
        while byteCount + count > byteLimit, entry.byteCount + count <= bodyLimit,
            let still = order.oldest.flatMap({ numbers[$0] }), let other = entries[still],
            other.lastWrite <= entry.start, still != number
        {
            released.append(other.content)
            _ = end(still)
        }
        guard byteCount + count <= byteLimit, entry.byteCount + count <= bodyLimit else {
            _ = end(number)
            return (false, released)
        }
        writeCount += 1
        entries[number]?.byteCount += count
        entries[number]?.lastWrite = writeCount
        byteCount += count
        if let identifier = entry.identifier {
            order.touch(identifier)
        } else {
            let identifier = order.add()
            entries[number]?.identifier = identifier
            numbers[identifier] = number
        }
        return (true, released)
    }

    /// Ends the counting of a body; returns false when it was let go before.
    mutating func end(_ number: Int) -> Bool {
        guard let entry = entries.removeValue(forKey: number) else { return false }
        byteCount -= entry.byteCount
        if let identifier = entry.identifier {
            order.remove(identifier)
            numbers[identifier] = nil
        }
        return true
    }
}
