import Foundation

extension [Data] {
    /// The certificates of a text in the PEM format (RFC 7468), in the form DER; nil where it has none, or an invalid one.
    ///
    /// Other lines, such as comments and keys, are skipped.
    init?(pemCertificates text: String) {
        self = []
        var lines: [Substring]?
        for line in text.split(whereSeparator: \.isNewline) {
            switch line {
            case "-----BEGIN CERTIFICATE-----":
                guard lines == nil else { return nil }
                lines = []
            case "-----END CERTIFICATE-----":
                guard let base64 = lines?.joined(), let bytes = Data(base64Encoded: base64), !bytes.isEmpty else {
                    return nil
                }
                append(bytes)
                lines = nil
            default: lines?.append(line)
            }
        }
        guard lines == nil, !isEmpty else { return nil }
    }
}

extension Data {
    /// The public key of a certificate in the form DER, with its algorithm; nil where the bytes are no certificate.
    ///
    /// It is the field `subjectPublicKeyInfo` of `TBSCertificate` (RFC 5280, section 4.1), byte for byte.
    var subjectPublicKeyInfo: Data? {
        var outside = DERValues(bytes: self)
        guard let certificate = outside.next(), certificate.tag == DERValues.sequence, outside.bytes.isEmpty else {
            return nil
        }
        var parts = DERValues(bytes: certificate.content)
        guard let signed = parts.next(), signed.tag == DERValues.sequence else { return nil }
        var fields = DERValues(bytes: signed.content)
        // A certificate of version 1 has no version.
        if fields.bytes.first == DERValues.version, fields.next() == nil { return nil }
        // The serial number, the algorithm of the signature, the issuer, the times, the subject and its key.
        var field: DERValues.Value?
        for tag in [DERValues.integer] + Array(repeating: DERValues.sequence, count: 5) {
            field = fields.next()
            guard field?.tag == tag else { return nil }
        }
        return field.map { Data($0.whole) }
    }
}

/// The values of DER that follow each other (ITU-T X.690, sections 8.1 and 10.1).
private struct DERValues {
    typealias Value = (tag: UInt8, whole: Data, content: Data)

    static let integer: UInt8 = 0x02
    static let sequence: UInt8 = 0x30
    static let version: UInt8 = 0xA0

    /// The bytes that are left.
    var bytes: Data

    /// Takes the next value; nil where it is cut, is longer than 16 MiB, or has a length in another form than DER's.
    mutating func next() -> Value? {
        let start = bytes.startIndex
        guard bytes.count >= 2 else { return nil }
        var length = Int(bytes[start + 1])
        var head = 2
        if length > 0x7F {
            head += length - 0x80
            guard (3...5).contains(head), bytes.count >= head, bytes[start + 2] != 0 else { return nil }
            length = bytes[start + 2..<start + head].reduce(0) { $0 << 8 | Int($1) }
            guard length > 0x7F else { return nil }
        }
        guard length <= bytes.count - head else { return nil }
        let end = start + head + length
        defer { bytes = bytes[end...] }
        return (bytes[start], bytes[start..<end], bytes[start + head..<end])
    }
}
