/// A format of files that another tool writes, so that ``ImportedCassette`` and ``Cassette`` can read them.
///
/// Conform to it for a format of your own. The reader below is for files such as
/// `{"calls": [{"url": "https://example.com", "status": 200, "answer": "hello"}]}`.
///
/// ```swift
/// struct CallLog: ForeignFormat {
///     func recognizes(_ document: ForeignDocument) throws -> Bool {
///         try document.root["calls"] != nil
///     }
///
///     func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
///         for call in try document.root["calls"]?.elements ?? [] {
///             let url = try call.required("url", as: "the URL")
///             let response = RecordedResponse(
///                 status: call["status"]?.integer ?? 200, fields: try draft.fields(call["headers"]),
///                 body: RecordedBody(Data((call["answer"]?.text ?? "").utf8)))
///             let request = RecordedRequest(method: "GET", url: url.text ?? "")
///             draft.append(Interaction(request: request, response: response), at: call)
///         }
///         return ImportedFormat("call log")
///     }
/// }
/// ```
public protocol ForeignFormat: Sendable {
    /// Returns whether a file is in this format.
    ///
    /// - Parameter document: The file.
    /// - Returns: Whether ``read(_:into:)`` can read it.
    /// - Throws: ``ImportFault`` to refuse a file with a reason, such as one of an old version.
    func recognizes(_ document: ForeignDocument) throws -> Bool

    /// Reads the exchanges of a file that the format recognizes.
    ///
    /// - Parameters:
    ///   - document: The file.
    ///   - draft: The exchanges and warnings so far; it also reads fields and bodies in their common forms.
    /// - Returns: The tool that wrote the file.
    /// - Throws: ``ImportFault`` at a place that cannot be read.
    func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat
}
