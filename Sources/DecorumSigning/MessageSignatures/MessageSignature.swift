#if Signing
import Decorum
import Foundation
import HTTPTypes

/// A request, or a response with the request that it answers, as signatures cover it.
struct SignedMessage: Sendable {
    let request: HTTPRequest
    /// The response; nil for a signature of the request.
    var response: HTTPResponse?
    /// The trailer fields of the response, or of the request without one; nil while they are not known.
    var trailers: HTTPFields?
}

/// A signature of a message.
struct MessageSignature: Sendable {
    var label = "sig1"
    /// The parts that it covers.
    var components: [SignatureComponent]
    var parameters: StructuredParameters = [:]
    /// The parameters as they are written; nil if they, or the label, cannot be.
    var parameterText: String?
    var bytes = Data()

    /// The text that is signed (RFC 9421, section 2.5), and the member of `Signature-Input` (section 2.3).
    func base(of message: SignedMessage) throws(ComponentFault) -> (text: [UInt8], input: String) {
        var reader = ComponentReader(message: message)
        var identities: Set<String> = []
        var (text, input) = ([UInt8](joining: ""), [UInt8](joining: label, "=("))
        for component in components {
            guard let identifier = component.identifier, let identity = component.identity else {
                throw ComponentFault("has an identifier that cannot be written")
            }
            do throws(ComponentFault) {
                guard identities.insert(identity).inserted else { throw ComponentFault("is named twice") }
                input.write(text.isEmpty ? "" : " ", identifier)
                text.write(identifier, ": ", try reader.value(of: component), "\n")
            } catch {
                throw ComponentFault(error.words, component: identifier)
            }
        }
        guard let parameterText else { throw ComponentFault("has a parameter beside it that cannot be written") }
        input.write(")", parameterText)
        text.write("\"@signature-params\": ")
        text += input.dropFirst(label.utf8.count + 1)
        return (text, String(decoding: input, as: UTF8.self))
    }

    /// Reads all signatures (RFC 9421, section 4).
    ///
    /// It is nil for fields that are longer than 64 KiB or not as the RFC demands, and for a label that occurs twice: another
    /// reader may take the other signature of that label.
    static func all(in fields: HTTPFields) -> [MessageSignature]? {
        let lines = fields[values: .signatureInput] + fields[values: .signature]
        guard lines.reduce(0, { $0 + $1.utf8.count }) <= 64 << 10,
            let inputs = try? StructuredDictionary(.signatureInput, in: fields, allowingRepeatedKeys: false),
            let values = try? StructuredDictionary(.signature, in: fields, allowingRepeatedKeys: false),
            inputs.count == values.count
        else { return nil }
        var signatures: [MessageSignature] = []
        for (label, input) in inputs {
            guard case .innerList(let items, let parameters) = input,
                let bytes = values[label]?.item?.value.byteSequence
            else { return nil }
            let components = items.map(SignatureComponent.init)
            signatures.append(
                MessageSignature(
                    label: label, components: components, parameters: parameters,
                    parameterText: try? parameters.serialized(), bytes: bytes))
        }
        return signatures
    }
}

/// A component that has no value, or no certain one, in a message.
struct ComponentFault: Error {
    /// The fault, as the predicate of a sentence about the component.
    let words: String
    /// The identifier of the component, as it is written; nil if it cannot be.
    let component: String?

    init(_ words: String, component: String? = nil) {
        (self.words, self.component) = (words, component)
    }
}

/// Finds the values of components in a message.
private struct ComponentReader {
    let message: SignedMessage
    /// The dictionaries that were parsed, by their texts, so that many components of one field parse it once.
    var dictionaries: [String: StructuredDictionary] = [:]
    lazy var queryItems = QueryItem.items(
        of: message.request.path?.drop { $0 != "?" }.dropFirst() ?? "", plusIsBlank: true)

    mutating func value(of component: SignatureComponent) throws(ComponentFault) -> String {
        guard let name = component.name else { throw ComponentFault("has a name that is no string") }
        let isField = name.utf8.first != UInt8(ascii: "@")
        let key = component.hasParameters ? component.item.parameters["key"] : nil
        for (parameter, value) in component.hasParameters ? component.item.parameters : [:] {
            let isUsable =
                switch parameter {
                case "req": value == true
                case "tr", "sf": isField && value == true
                case "bs": isField && value == true && key == nil && !component.has("sf")
                case "key": isField && value.string != nil
                case "name": name == "@query-param" && value.string != nil
                default: false
                }
            guard isUsable else { throw ComponentFault("has a parameter that it cannot have") }
        }
        guard message.response != nil || !component.has("req") else {
            throw ComponentFault("is of a request that this one answers, which there cannot be")
        }
        if isField { return try fieldValue(component, key: key?.string) }
        if let response = message.response, !component.has("req") {
            guard name == "@status" else { throw ComponentFault("is a part of requests only") }
            return String(response.status.code)
        }
        guard name == "@query-param" else { return try value(name, of: message.request) }
        return try queryParameter(component.item.parameters["name"]?.string)
    }

    private func value(_ name: String, of request: HTTPRequest) throws(ComponentFault) -> String {
        let target = request.path ?? "/"
        let path = target == "*" ? "" : target
        switch name {
        case "@method": return request.method.rawValue
        case "@request-target": return target
        case "@path":
            let path = String(path.prefix { $0 != "?" })
            return path.isEmpty ? "/" : path
        case "@query": return "?" + path.drop { $0 != "?" }.dropFirst()
        case "@status": throw ComponentFault("is a part of responses only")
        case "@target-uri", "@authority", "@scheme":
            guard let origin = try? Origin(request) else {
                throw ComponentFault("is a part of a URL that the request does not have")
            }
            return name == "@scheme"
                ? origin.scheme : name == "@authority" ? origin.authority : origin.description + path
        default: throw ComponentFault("has a name that is not known")
        }
    }

    private mutating func queryParameter(_ name: String?) throws(ComponentFault) -> String {
        guard let name else { throw ComponentFault("lacks the name of a parameter") }
        let wanted = PercentCoding.decode(Array(name.utf8)[...], plusIsBlank: false)
        let found = queryItems.filter { $0.name.utf8.elementsEqual(wanted) }
        guard found.count == 1 else {
            throw ComponentFault(found.isEmpty ? "is not in the query" : "is in the query several times")
        }
        return found[0].value.encodedAsInForm
    }

    private mutating func fieldValue(
        _ component: SignatureComponent, key: String?
    ) throws(ComponentFault) -> String {
        guard let name = component.fieldName else { throw ComponentFault("is no name of a field in lower case") }
        let isOfRequest = component.has("req")
        var fields = (isOfRequest ? nil : message.response?.headerFields) ?? message.request.headerFields
        // The trailer fields of the request are not kept until its response arrives.
        if component.has("tr") { fields = (isOfRequest ? nil : message.trailers) ?? [:] }
        var lines: [ArraySlice<UInt8>] = []
        for field in fields where field.name == name { lines.append(field.trimmedBytes) }
        guard !lines.isEmpty else {
            throw ComponentFault(component.has("tr") ? "is not among the trailer fields" : "is not among the fields")
        }
        if component.has("bs") { return lines.map { ":\(Data($0).base64EncodedString()):" }.joined(separator: ", ") }
        // The lines of this field have commas of their own (RFC 9110, section 5.3).
        guard lines.count == 1 || name != .setCookie else {
            throw ComponentFault("has several lines, which only its bytes tell apart")
        }
        let value = lines.count == 1 ? lines[0] : Array(lines.joined(separator: Array(", ".utf8)))[...]
        // A byte that the other side decodes in another way would break the signature.
        guard value.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 }) else {
            throw ComponentFault("has characters that only its bytes can stand for")
        }
        let plain = String(decoding: value, as: UTF8.self)
        if let key { return try member(key, of: plain) }
        return component.has("sf") ? try structured(plain, component.type) : plain
    }

    private mutating func member(_ key: String, of text: String) throws(ComponentFault) -> String {
        guard let dictionary = dictionaries[text] ?? (try? StructuredDictionary(parsing: text)) else {
            throw ComponentFault("is a member of a field that is no dictionary")
        }
        dictionaries[text] = dictionary
        guard let member = try? dictionary[key]?.serialized() else {
            throw ComponentFault("is no member of the field")
        }
        return member
    }

    private func structured(_ text: String, _ type: StructuredFieldType?) throws(ComponentFault) -> String {
        let value =
            switch type {
            case .item: try? StructuredItem(parsing: text).serialized()
            case .list: try? StructuredList(parsing: text).serialized()
            case .dictionary: try? StructuredDictionary(parsing: text).serialized()
            case nil: throw ComponentFault("is a field whose type is not known")
            }
        guard let value else { throw ComponentFault("is a field that is not of its type") }
        return value
    }
}

extension HTTPField {
    /// The bytes of the value, without the blanks and tabs at both ends.
    fileprivate var trimmedBytes: ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let bytes = unsafe withUnsafeBytesOfValue { unsafe Array($0) }.drop(while: isBlank)
        return bytes.lastIndex { !isBlank($0) }.map { bytes[...$0] } ?? []
    }
}
#endif
