public import Decorum
import HTTPTypes

extension Endpoint {
    /// States the media types to ask for, in the place of those of ``reading``.
    ///
    /// - Parameter ranges: The types, the preferred ones first.
    /// - Returns: The endpoint with the field `Accept` (RFC 9110, section 12.5.1).
    public func accepting(_ ranges: MediaRange...) -> Self {
        setting(.accept, ranges.map(\.fieldText).joined(separator: ", "))
    }

    /// Makes the call depend on the version of the resource that the caller knows, so that no other update is lost.
    ///
    /// A server that has another version answers with 412 (Precondition Failed).
    ///
    /// - Parameter tag: The tag of the version; the call fails before it is sent where the tag is weak, since it would never
    ///   match (RFC 9110, section 13.1.1).
    /// - Returns: The endpoint with the field `If-Match`.
    public func ifMatch(_ tag: EntityTag) -> Self {
        setting(.ifMatch, tag.fieldText)
    }

    /// Makes the call depend on the absence of the resource, as for one that must not be replaced.
    ///
    /// - Returns: The endpoint with the field `If-None-Match: *` (RFC 9110, section 13.1.2).
    public func ifAbsent() -> Self {
        setting(.ifNoneMatch, "*")
    }

    /// States which statuses are no error.
    ///
    /// - Parameter statuses: The statuses, as in `.codes([200, 404])`.
    /// - Returns: The endpoint that accepts them alone.
    public func accepting(statuses: AcceptedStatuses) -> Self {
        var endpoint = self
        endpoint.accepted = statuses
        return endpoint
    }

    private func setting(_ name: HTTPField.Name, _ value: String) -> Self {
        var endpoint = self
        endpoint.fields[name] = value
        return endpoint
    }

    /// The fields of the request, with those that follow from the reading.
    ///
    /// - Throws: `InvalidRequestError` for credentials, and for a precondition that never holds.
    func requestFields() throws(InvalidRequestError) -> HTTPFields {
        guard !fields.isEmpty else { return AcceptFields.accepting(reading.accept) }
        for name in [HTTPField.Name.authorization, .proxyAuthorization, .cookie] where fields.contains(name) {
            throw InvalidRequestError(
                .invalidField,
                "The endpoint “\(path.text)” sets \(name); give credentials to `authenticating(with:for:)` instead, "
                    + "which sends them only to their origins.")
        }
        if let tag = fields[.ifMatch], tag.hasPrefix("W/") {
            throw InvalidRequestError(
                .invalidField, "The endpoint “\(path.text)” has a weak tag in If-Match, which never matches.")
        }
        var fields = fields
        if let accept = reading.accept, !fields.contains(.accept) { fields[.accept] = accept }
        return fields
    }
}

/// The fields of most requests, which are made once since each call needs them.
private enum AcceptFields {
    private static let none = HTTPFields()
    private static let json: HTTPFields = [.accept: "application/json"]

    static func accepting(_ mediaType: String?) -> HTTPFields {
        switch mediaType {
        case nil: none
        case "application/json"?: json
        case let mediaType?: [.accept: mediaType]
        }
    }
}
