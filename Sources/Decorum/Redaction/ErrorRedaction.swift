import Foundation

extension Redaction {
    /// Describes an error without what it may quote.
    ///
    /// A ``DescribableError`` is described in its own words, with the URLs in them redacted. Of an error of Foundation's
    /// the domain and the code are told, as in `NSURLErrorDomain -1004`; of any other, the name of its type.
    ///
    /// - Parameter error: The error.
    /// - Returns: What may be written down.
    public func description(of error: any Error) -> String {
        guard let error = error as? any DescribableError else { return Self.name(of: error) }
        let description = applied(toText: error.description)
        guard let underlying = (error as? TransportError)?.underlying else { return description }
        return "\(description) (\(Self.name(of: underlying)))"
    }

    /// The short description of an error, or the name of its type with its code.
    static func name(of error: any Error) -> String {
        if let error = error as? any DescribableError { return bounded(error.shortDescription) }
        if let error = error as? any CustomNSError {
            return bounded("\(type(of: error).errorDomain) \(error.errorCode)")
        }
        if type(of: error) is NSError.Type {
            let error = error as NSError
            return bounded("\(error.domain) \(error.code)")
        }
        return bounded(String(describing: type(of: error)))
    }

    private static func bounded(_ name: String) -> String {
        String(Redaction.standard.applied(toText: name).prefix(100))
    }
}
