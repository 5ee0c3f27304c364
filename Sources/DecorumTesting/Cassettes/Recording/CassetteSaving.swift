import Decorum
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension Cassette {
    /// Writes the recorded interactions: all or none, and only if they hold no secret.
    func save() throws {
        let (recorded, redactor) = try recorded()
        guard !recorded.isEmpty || mode == .rewrite && opened.count > 0 else { return }
        let directory = file.deletingLastPathComponent()
        try writing { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
        try withLock(on: directory) {
            let (content, isForeign) = try currentContent()
            let merge = RecordingMerge(rules: rules, redactor: self.redactor, content: content)
            let isShared = run?.write(file) ?? false
            let merged =
                if isForeign || isShared {
                    try merge.united(mode == .rewrite ? merge.unchanged(recorded, since: original) : recorded)
                } else if mode == .rewrite {
                    merge.rewritten(recorded)
                } else {
                    merge.appended(recorded)
                }
            try write(merged, over: content, without: redactor)
        }
    }

    /// The current content of the file, and whether another recorder has written it since this cassette was opened.
    private func currentContent() throws -> (content: CassetteContent, isForeign: Bool) {
        guard FileManager.default.fileExists(atPath: file.path) else { return (.none, false) }
        let current = try CassetteContent(reading: file, as: rules.content)
        guard current.count == opened.count else { return (current, true) }
        if !current.text.isEmpty, current.text == opened.text { return (current, false) }
        return (current, try current.interactions() != opened.interactions())
    }

    private func write(
        _ interactions: [SavedInteraction], over content: CassetteContent, without secrets: CassetteRedactor
    ) throws {
        let document = try CassetteDocument(of: interactions, over: content, as: file)
        let scanner = SecretScanner(rules, leaving: secrets.left)
        try scanner.check(document.bytes, file: file.relativePath)
        for (path, data) in document.files { try scanner.check(data, file: path) }
        let gate = ContentGate(scanner: scanner, redactor: secrets, file: file.relativePath)
        for case .recorded(let interaction) in interactions { try gate.check(interaction) }
        let obsolete = CassetteDocument.filesLeftOver(by: interactions, of: content)
            .subtracting(document.files.keys)
        try writing {
            let directory = file.deletingLastPathComponent()
            if !document.files.isEmpty {
                let folder = CassetteFiles(beside: file).folder
                try FileManager.default.createDirectory(
                    at: directory.appending(path: folder), withIntermediateDirectories: true)
            }
            for (path, data) in document.files {
                try data.write(to: directory.appending(path: path), options: .atomic)
            }
            if try !FileManager.default.fileExists(atPath: file.path) || Data(contentsOf: file) != document.bytes {
                try document.bytes.write(to: file, options: .atomic)
            }
            for path in obsolete where FileManager.default.fileExists(atPath: directory.appending(path: path).path) {
                try FileManager.default.removeItem(at: directory.appending(path: path))
            }
        }
        if !secrets.replacements.isEmpty { rules.reportReplacements?(secrets.replacements, file) }
    }

    private func writing(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as CocoaError {
            throw CassetteError(
                file: file.relativePath, reason: "it cannot be written to the disk (error \(error.errorCode))")
        }
    }

    /// Keeps other recorders, of this process and of others, from writing into the folder at the same time.
    private func withLock(on directory: URL, _ body: () throws -> Void) throws {
        let descriptor = unsafe open(directory.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CassetteError(file: file.relativePath, reason: "its folder cannot be opened")
        }
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else {
                throw CassetteError(file: file.relativePath, reason: "its folder cannot be locked")
            }
        }
        try body()
    }
}
