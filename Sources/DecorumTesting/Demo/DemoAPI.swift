public import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// A small API over notes on 127.0.0.1, for tours, documentation and tests.
///
/// ```swift
/// let demo = try DemoAPI()
/// let connection = try SystemConnection().resolving(against: demo.url)
/// let response = try await connection.send(.get("notes?per_page=2"))
/// ```
///
/// | request | answer |
/// |---|---|
/// | `GET notes?page=1&per_page=2` | a page of notes as a list; `Link` names the next, the previous, the first and the last |
/// | `GET feed?after=2&limit=2` | `{"items": […], "next": "4"}`; `next` is null on the last page |
/// | `GET notes/1` | one note with its `ETag`; 304 to `If-None-Match` |
/// | `POST notes` with `{"title": …, "text": …}` | 201, `Location` and the note; 422 without a title |
/// | `PUT notes/1` with a note and `If-Match` | the note; 412 for another version, 428 without the field |
/// | `DELETE notes/1` | 204 |
/// | `POST files` with `multipart/form-data` | 201 and what was received of each part |
/// | `GET files/manual` | a file with its name in `Content-Disposition` |
/// | `POST login` with the form `name` and `password` (`open sesame`) | a token, which is valid until ``expireTokens()`` |
/// | `GET profile` with `Authorization: Bearer …` | the name; 401 without a valid token |
/// | `GET events` | server-sent events, ended by the server after every third; 204 after the last |
/// | `GET log` | a line of JSON for each note |
///
/// An error has the form `{"code": "not_found", "message": "…"}`. The state is in memory, two demos share nothing, and the same
/// requests in the same order get the same answers: there is no date and no chance.
public final class DemoAPI: Sendable {
    /// The server, which can be questioned about its requests, and told to fail in further ways.
    public let origin: LoopbackOrigin
    private let book: DemoBook

    /// Starts the API.
    ///
    /// - Parameters:
    ///   - noteCount: The number of notes at the start; a negative number counts as 0.
    ///   - eventCount: The number of events of `events`.
    ///   - clock: The clock for the pauses between events.
    /// - Throws: ``SocketError`` when the system has no descriptor or port left.
    public init(noteCount: Int = 5, eventCount: Int = 7, clock: any DatedClock = SystemClock()) throws {
        let origin = try LoopbackOrigin(clock: clock)
        let book = DemoBook(noteCount: max(0, noteCount), eventCount: max(0, eventCount))
        self.origin = origin
        self.book = book
        let root = origin.url + Self.path
        origin.route(nil, Self.path + "*") { request in
            book.answer(to: request, below: Self.path, at: root)
        }
    }

    private static let path = "/v1/"

    /// The base URL, with a path and a slash at its end, as in `http://127.0.0.1:49152/v1/`.
    public var url: String { origin.url + Self.path }

    /// The password of each user.
    public static let password = "open sesame"

    /// Makes all tokens so far invalid, as time would.
    public func expireTokens() {
        book.state.withLock { $0.tokens = [:] }
    }

    /// Answers every request whose number is a multiple of a count with 503 and `Retry-After: 0`; the first has number 1.
    ///
    /// - Parameter count: The count, such as 2 for each second request; nil for no failures.
    public func failEvery(_ count: Int?) {
        book.state.withLock { state in
            state.failing = count
            state.requestCount = 0
        }
    }

    /// Changes a note, as another client would.
    ///
    /// - Parameters:
    ///   - id: The number of the note.
    ///   - title: Its new title.
    public func changeNote(_ id: Int, title: String) {
        book.state.withLock { state in
            guard let note = state.notes[id] else { return }
            state.notes[id] = DemoNote(id: id, title: title, text: note.text, version: note.version + 1)
        }
    }

    /// Closes all sockets; see ``LoopbackOrigin/stop()``.
    public func stop() {
        origin.stop()
    }
}

/// A note of ``DemoAPI``.
public struct DemoNote: Sendable, Hashable, Codable, Identifiable {
    /// The number.
    public var id: Int
    /// The title, which is not empty.
    public var title: String
    /// The text.
    public var text: String
    /// The number of changes so far.
    public var version: Int

    /// Creates a note.
    ///
    /// - Parameters:
    ///   - id: The number.
    ///   - title: The title.
    ///   - text: The text.
    ///   - version: The number of changes so far.
    public init(id: Int = 0, title: String, text: String = "", version: Int = 0) {
        self.id = id
        self.title = title
        self.text = text
        self.version = version
    }
}
