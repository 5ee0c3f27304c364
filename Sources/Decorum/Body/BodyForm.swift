import Foundation

extension Body {
    /// Creates a body from the fields of a form, with the media type `application/x-www-form-urlencoded`.
    ///
    /// ```swift
    /// let form = Body(form: ["grant_type": "client_credentials", "scope": "read write"])
    /// // grant_type=client_credentials&scope=read+write
    /// ```
    ///
    /// The fields keep their order, and a name may occur several times. Names and values are encoded as browsers encode
    /// them (URL Standard, section 5.2): a blank as `+`, and other bytes of UTF-8 as `%` and two digits, except for
    /// ASCII letters, ASCII digits and `*-._`.
    ///
    /// - Parameter fields: The names and values.
    public init(form fields: KeyValuePairs<String, String>) {
        self.init(form: fields.map { ($0.key, $0.value) })
    }

    /// Creates a body from the fields of a form that are computed.
    ///
    /// The rules are those of ``init(form:)-(KeyValuePairs<String,String>)``.
    ///
    /// - Parameter fields: The names and values.
    public init(form fields: [(name: String, value: String)]) {
        let pairs = fields.map { PercentCoding.encodeForForm($0.name) + "=" + PercentCoding.encodeForForm($0.value) }
        self.init(
            .bytes(Data(pairs.joined(separator: "&").utf8)), mediaType: "application/x-www-form-urlencoded")
    }
}

extension PercentCoding {
    fileprivate static func encodeForForm(_ text: String) -> String {
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: " "): [UInt8(ascii: "+")]
            case UInt8(ascii: "*"): [byte]
            case UInt8(ascii: "~"): Array("%7E".utf8)
            default: encode(CollectionOfOne(byte))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
