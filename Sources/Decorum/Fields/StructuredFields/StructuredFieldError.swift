/// A structured field that cannot be read, or a value that none can be written for.
///
/// A field that cannot be read is treated as one that is not there (RFC 9651, section 4.2). Neither the error nor its
/// description holds any part of the field.
public struct StructuredFieldError: Error, Hashable, Sendable {
    /// What is wrong, as one of a few clauses, fit for a metric.
    public let reason: String
    /// The byte at which it shows: of the field's value, or of the text that was written until then.
    public let offset: Int
}

extension StructuredFieldError: CustomStringConvertible {
    /// What is wrong and where, in a sentence.
    public var description: String { "The structured field is invalid at byte \(offset): \(reason)." }
}
