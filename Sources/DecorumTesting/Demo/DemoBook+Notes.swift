import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// The answers about notes.
extension DemoBook {
    private var sortedNotes: [DemoNote] { state.withLock { state in state.notes.values.sorted { $0.id < $1.id } } }

    func notes(_ query: DemoForm, at root: String) -> LoopbackOrigin.Answer {
        let notes = sortedNotes
        let size = min(query.number("per_page", else: 2), 100)
        let page = query.number("page", else: 1)
        let last = max(1, (notes.count + size - 1) / size)
        let numbers = [
            ("first", 1), ("prev", page > 1 ? page - 1 : nil), ("next", page < last ? page + 1 : nil), ("last", last),
        ]
        let links = numbers.compactMap { relation, number in
            number.map { "<\(root)notes?page=\($0)&per_page=\(size)>; rel=\"\(relation)\"" }
        }
        return .json(
            Array(notes.dropFirst((page - 1) * size).prefix(size)), fields: ["Link": links.joined(separator: ", ")])
    }

    func feed(_ query: DemoForm) -> LoopbackOrigin.Answer {
        let after = query["after"].flatMap { Int($0) } ?? 0
        let rest = sortedNotes.filter { $0.id > after }
        let items = Array(rest.prefix(query.number("limit", else: 2)))
        return .json(Feed(items: items, next: items.count < rest.count ? items.last.map { "\($0.id)" } : nil))
    }

    func note(_ id: Int, _ request: ReceivedRequest) -> LoopbackOrigin.Answer {
        state.withLock { state in
            guard let note = state.notes[id] else {
                return .problem(.notFound, "not_found", "There is no note \(id).")
            }
            switch request.method {
            case .get, .head:
                let isKnown = request.fields["If-None-Match"] == note.tag
                let fields: RawFields = ["ETag": note.tag]
                return isKnown ? .init(.notModified, fields: fields) : .json(note, fields: fields)
            case .put:
                guard let tag = request.fields["If-Match"] else {
                    return .problem(.preconditionRequired, "version_required", "Send If-Match.")
                }
                guard tag == note.tag || tag == "*" else {
                    return .problem(.preconditionFailed, "changed", "The note has changed.", fields: ["ETag": note.tag])
                }
                guard let draft = DemoNote(draft: request.body) else { return .invalidNote }
                let new = DemoNote(id: id, title: draft.title, text: draft.text, version: note.version + 1)
                state.notes[id] = new
                return .json(new, fields: ["ETag": new.tag])
            case .delete:
                state.notes[id] = nil
                return .init(.noContent)
            default:
                return .problem(
                    .methodNotAllowed, "method", "A note knows GET, PUT and DELETE.",
                    fields: ["Allow": "GET, HEAD, PUT, DELETE"])
            }
        }
    }

    func create(_ content: Data, at root: String) -> LoopbackOrigin.Answer {
        guard let draft = DemoNote(draft: content) else { return .invalidNote }
        return state.withLock { state in
            let note = DemoNote(id: state.nextID, title: draft.title, text: draft.text)
            state.nextID += 1
            state.notes[note.id] = note
            return .json(note, .created, fields: ["Location": "\(root)notes/\(note.id)", "ETag": note.tag])
        }
    }

    func log() -> LoopbackOrigin.Answer {
        let lines = sortedNotes.map { #"{"id":\#($0.id),"version":\#($0.version)}"# + "\n" }
        return .chunked(fields: ["Content-Type": "application/jsonl"], chunks: lines)
    }

    private struct Feed: Encodable {
        let items: [DemoNote]
        let next: String?
    }
}

extension DemoNote {
    fileprivate var tag: String { "\"\(id)-\(version)\"" }

    /// A note that a client has sent; nil without a title.
    fileprivate init?(draft content: Data) {
        struct Draft: Decodable {
            let title: String
            let text: String?
        }
        guard let draft = try? JSONDecoder().decode(Draft.self, from: content), !draft.title.isEmpty else { return nil }
        self.init(title: draft.title, text: draft.text ?? "")
    }
}

extension LoopbackOrigin.Answer {
    fileprivate static let invalidNote = problem(.unprocessableContent, "invalid", "A note needs a title.")
}
