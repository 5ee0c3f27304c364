import Testing

/// The place to which the texts of failed requests go: the report of the test.
///
/// Swift Testing tells no test what was attached, so the tests of this module set a place of their own.
struct FailureAttachments: Sendable {
    @TaskLocal static var current = FailureAttachments(attach: { text, name, sourceLocation in
        Attachment.record(text, named: name, sourceLocation: sourceLocation)
    })

    let attach: @Sendable (_ text: String, _ name: String, _ sourceLocation: SourceLocation) -> Void
}
