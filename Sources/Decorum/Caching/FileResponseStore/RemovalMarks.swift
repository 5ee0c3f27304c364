import Foundation

/// The marks that removals leave in the directory, by which other stores learn of them.
///
/// A mark is an empty file that is named by the digest of what was removed, and whose time is that of the removal. It is
/// kept for a day, which is the longest life of a ticket.
struct RemovalMarks: Sendable {
    /// The largest number of marks that are kept; above it, one mark of everything replaces all.
    private static let countLimit = 4096
    // The prefixes keep the digests of different things apart.
    private static let ofAll = "all"

    private let directory: ResponseDirectory
    private var fileSystem: any FileSystem { directory.fileSystem }

    /// The time of the clocks by which removals are marked.
    var now: TicketTime { fileSystem.time }

    init(_ directory: ResponseDirectory) {
        self.directory = directory
    }

    /// Creates the mark of everything, with a time before all requests, so that a full disk does not prevent it later.
    func prepare() throws {
        do {
            fileSystem.close(try fileSystem.create(path(Self.ofAll)))
            try fileSystem.setTime(of: path(Self.ofAll), to: 1)
        } catch SystemError.exists {}
    }

    private func path(_ mark: String) -> String { "\(directory.removalsPath)/\(mark)" }

    private static func name(_ removal: ResponseFileRemoval) -> String {
        switch removal {
        case .key(let digest): "key-\(ResponseFileName(digest: digest, index: 0).text)"
        case .uri(let digest):
            "uri-\(ResponseFileName(digest: ResponseKeyDigest(uri: digest.uri, key: 0, principal: 0), index: 0).text)"
        case .principal(let digest): "principal-\(String(digest, radix: 16))"
        case .all: ofAll
        }
    }

    /// Marks a removal; must be called under the lock of the directory.
    func add(_ removal: ResponseFileRemoval, at time: Int64) throws {
        let last = try lastChange(mayWait: true)
        do {
            try set(Self.name(removal), to: time)
        } catch {
            try set(Self.ofAll, to: time)
        }
        // The folder has another time after each removal, also after one that was refused at first and is older, so that
        // one look tells whether there was any.
        try fileSystem.setTime(of: directory.removalsPath, to: max(fileSystem.time.wall, last &+ 1))
    }

    private func set(_ mark: String, to time: Int64) throws {
        let known = try self.time(of: path(mark), mayWait: true)
        if known == .min { fileSystem.close(try fileSystem.create(path(mark))) }
        // A later removal stays later, except one in the future, from before the clock was set.
        guard known < time || known > fileSystem.time.wall else { return }
        try fileSystem.setTime(of: path(mark), to: time)
    }

    /// The time of the last change of the marks.
    func lastChange(mayWait: Bool) throws -> Int64 {
        try time(of: directory.removalsPath, mayWait: mayWait)
    }

    /// The time of the last removal that covers a key; the smallest number when there is none.
    ///
    /// A time in the future was written before the clock was set, and no ticket is comparable over that.
    func lastRemoval(of digest: ResponseKeyDigest, mayWait: Bool) throws -> Int64 {
        let removals: [ResponseFileRemoval] = [.all, .uri(digest), .key(digest), .principal(digest: digest.principal)]
        return try removals.reduce(.min) { last, removal in
            let time = try time(of: path(Self.name(removal)), mayWait: mayWait)
            // The clock is read after the mark, so that a removal at this moment is not one of the future.
            guard time <= fileSystem.time.wall else { return last }
            // Some file systems keep whole seconds, or every other one.
            return max(last, Self.isWholeSecond(time) ? time + 2_000_000_000 : time)
        }
    }

    /// Whether the file system may have cut a time to seconds, so that a later change may have the same time.
    static func isWholeSecond(_ time: Int64) -> Bool {
        time > .min && time % 1_000_000_000 == 0
    }

    private func time(of path: String, mayWait: Bool) throws -> Int64 {
        do {
            return try fileSystem.status(of: path, mayWait: mayWait).time
        } catch let error as SystemError where [ENOENT, ENOTDIR].contains(error.code) {
            // Without a directory, no store has made a mark.
            return .min
        }
    }

    /// Deletes the marks that are older than every ticket; must be called under the lock of the directory.
    func sweep() throws {
        var marks: [String] = []
        unsafe try fileSystem.list(directory.removalsPath) { text in
            let name = unsafe String(decoding: text, as: UTF8.self)
            if ["key-", "uri-", "principal-"].contains(where: name.hasPrefix) { marks.append(name) }
        }
        let now = fileSystem.time.wall
        let areMany = marks.count > Self.countLimit
        if areMany { try add(.all, at: now) }
        if try time(of: path(Self.ofAll), mayWait: true) > now { try fileSystem.setTime(of: path(Self.ofAll), to: 1) }
        for mark in marks {
            guard let time = try? time(of: path(mark), mayWait: true) else { continue }
            if areMany || now &- time > TicketTime.day || time > now { try? fileSystem.remove(path(mark)) }
        }
    }
}
