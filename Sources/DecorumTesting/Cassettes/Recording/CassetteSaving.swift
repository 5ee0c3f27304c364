import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// Writes the recorded interactions: all or none, and only if they hold no secret.
    func save() throws {
        let (recorded, _, redactor) = try recorded()
        func saving(_ file: CassetteCourse.Saving.File, isWrittenBySuite: Bool = false) -> CassetteCourse.Saving {
            .init(
                mode: mode, file: file, isWrittenBySuite: isWrittenBySuite, hasRecordings: !recorded.isEmpty,
                hadInteractions: opened.count > 0, test: opening?.name)
        }
        guard CassetteCourse.merge(for: saving(.unchanged)) != .nothing else { return }
        let directory = file.deletingLastPathComponent()
        try writing { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
        try FolderLock.hold(on: directory, for: file) {
            let (content, state) = try currentContent()
            let way = CassetteCourse.merge(for: saving(state, isWrittenBySuite: shared?.write(file) ?? false))
            guard way != .nothing else { return }
            let merge = RecordingMerge(
                rules: rules, redactor: self.redactor, content: content,
                original: mode == .rewrite ? original : .none, opened: state == .unchanged ? nil : opened,
                isPartial: shared?.isPartial ?? false, expiry: rules.renewal(at: clock.recordingDate))
            try write(merge.merged(recorded, way), over: content, without: redactor)
            self.state.withLock { $0.saved = (recorded.count, redactor.replacements) }
            noteNewTest(recorded)
        }
        if mode == .rewrite { noteLostFailures(in: recorded) }
    }

    /// The current content of the file, and its state compared with the file that was opened.
    private func currentContent() throws -> (content: CassetteContent, state: CassetteCourse.Saving.File) {
        guard let current = FileStamp(of: file) else { return (.none, .absent) }
        if current == stamp { return (opened, .unchanged) }
        let content = try CassetteContent(of: file, at: current, rules, in: shared)
        guard content.count == opened.count else { return (content, .changed) }
        if !content.text.isEmpty, content.text == opened.text { return (content, .unchanged) }
        return (content, try content.interactions() == opened.interactions() ? .unchanged : .changed)
    }

    private func write(
        _ interactions: [SavedInteraction], over content: CassetteContent, without secrets: CassetteRedactor
    ) throws {
        // What other tests of the suite have recorded was searched when they wrote it.
        let document = try CassetteDocument(of: interactions, over: content, as: file, isSearchedWhole: opening == nil)
        try checkSize(of: document, interactions)
        let scanner = SecretScanner(rules, leaving: secrets.left)
        // A finding is looked for again in the whole file, where it has another place.
        if !scanner.findings(in: document.unchecked).isEmpty {
            try scanner.check(document.bytes, file: file.relativePath)
            try scanner.check(document.unchecked, file: file.relativePath)
        }
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
            if try content.isEmpty || !content.holds(document.bytes, in: file) {
                try document.bytes.write(to: file, options: .atomic)
            }
            for path in obsolete where FileManager.default.fileExists(atPath: directory.appending(path: path).path) {
                try FileManager.default.removeItem(at: directory.appending(path: path))
            }
        }
        let replacements = shared?.unreported(secrets.replacements) ?? secrets.replacements
        if !replacements.isEmpty { rules.reportReplacements?(replacements, file) }
        if !document.losses.isEmpty { rules.reportLosses?(document.losses, file) }
    }

    private func writing(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as CocoaError {
            throw CassetteError(
                file: file.relativePath, reason: "it cannot be written, because \(DiskFailure.words(for: error))")
        }
    }
}

extension CassetteContent {
    fileprivate var isEmpty: Bool { if case .none = self { true } else { false } }

    /// Whether the file, of which this is the current content, has exactly these bytes.
    fileprivate func holds(_ bytes: Data, in file: URL) throws -> Bool {
        if case .file(let reader) = self {
            return reader.bytes.count == bytes.count && bytes.elementsEqual(reader.bytes)
        }
        return try Data(contentsOf: file) == bytes
    }
}
