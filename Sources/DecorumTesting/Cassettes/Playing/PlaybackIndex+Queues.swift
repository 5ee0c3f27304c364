extension PlaybackIndex {
    /// The part of a request by which it is looked up.
    struct Key: Hashable {
        var bytes: [UInt8] = []

        init() {}

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        /// The method and the URL as the default rules append them, but as they are written.
        init(method: String, url: String) {
            bytes.reserveCapacity(method.utf8.count + url.utf8.count + 2)
            bytes += method.utf8
            bytes.append(0)
            bytes += url.utf8
            bytes.append(0)
        }

        /// Whether the key is a method and a URL as they are written.
        func isWritten(method: String, url: String) -> Bool {
            let (method, url) = (method.utf8, url.utf8)
            return bytes.count == method.count + url.count + 2 && bytes[method.count] == 0 && bytes.last == 0
                && holds(method, at: 0) && holds(url, at: method.count + 1)
        }

        /// Whether the bytes of a text stand at an index; the key is long enough for them.
        private func holds(_ text: String.UTF8View, at start: Int) -> Bool {
            // Each interaction of a file is compared when it is opened, and a slice compares ten times as slowly.
            let answer = unsafe text.withContiguousStorageIfAvailable { text in
                for index in text.indices where unsafe text[index] != bytes[start + index] { return false }
                return true
            }
            return answer ?? bytes[start...].starts(with: text)
        }

        func hash(into hasher: inout Hasher) {
            // An array hashes each of its bytes by itself, which takes far longer. The pointer does not escape.
            unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }
    }

    /// The interactions with the same key of method and URL.
    struct Group {
        /// Most groups have one interaction, for which no list is needed.
        let first: Int
        var others: [Int] = []
        /// By the key of all other rules; nil until the first request comes.
        var queues: Queues?
        /// The keys of the queues that hold placeholders; nil until a request matches no queue exactly.
        var templates: KeyTemplates?
    }

    /// The place of the interactions that answer a request.
    struct Place {
        let group: Int
        let key: Key
    }

    /// The interactions with the same key, in their order.
    struct Queue {
        let first: Int
        var others: [Int] = []
        var next = 0

        var ordinals: [Int] { [first] + others }
        var last: Int { others.last ?? first }
        /// The next interaction that has not had its turn; nil if all have.
        var upcoming: Int? { next == 0 ? first : next <= others.count ? others[next - 1] : nil }

        /// Whether more than one interaction may not have had its turn.
        var hasSeveral: Bool { next < others.count }

        /// The first interactions that have not had their turn; empty if at most one is left.
        func left(except taken: Set<Int>, upTo limit: Int) -> [Int] {
            guard hasSeveral else { return [] }
            let ordinals = (next...others.count).lazy.map { $0 == 0 ? first : others[$0 - 1] }
            return Array(ordinals.filter { !taken.contains($0) }.prefix(limit))
        }

        /// Goes on to the next interaction that has not had its turn.
        mutating func advance(past taken: Set<Int>) {
            while let upcoming, taken.contains(upcoming) { next += 1 }
        }
    }

    /// Queues by their keys; most groups have one, for which no dictionary is needed.
    struct Queues {
        private var only: (key: Key, queue: Queue)?
        private var all: [Key: Queue] = [:]

        var keys: [Key] { only.map { [$0.key] } ?? Array(all.keys) }

        subscript(key: Key) -> Queue? {
            guard let only else { return all[key] }
            return only.key == key ? only.queue : nil
        }

        mutating func append(_ ordinal: Int, to key: Key) {
            if only?.key == key {
                only?.queue.others.append(ordinal)
                return
            }
            if let only {
                all[only.key] = only.queue
                self.only = nil
            } else if all.isEmpty {
                only = (key, Queue(first: ordinal))
                return
            }
            if all[key] == nil { all[key] = Queue(first: ordinal) } else { all[key]?.others.append(ordinal) }
        }

        mutating func advance(_ key: Key, past taken: Set<Int>) {
            if only == nil { all[key]?.advance(past: taken) } else { only?.queue.advance(past: taken) }
        }
    }
}
