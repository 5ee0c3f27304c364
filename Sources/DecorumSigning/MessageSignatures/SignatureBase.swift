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

/// The parts that a signature covers and its parameters, from which the text that is signed follows.
struct SignatureBase: Sendable {
    let components: [SignatureComponent]
    let parameters: StructuredParameters
    /// The types of fields that no standard has.
    var types: [String: StructuredFieldType] = [:]

    /// The text that is signed (RFC 9421, section 2.5), and its last part, which is the member of `Signature-Input`
    /// (section 2.3).
    func text(for message: SignedMessage) throws(SignatureBaseError) -> (whole: String, input: String) {
        var reader = ComponentReader(message: message, types: types)
        var seen: Set<SignatureComponent> = []
        var identifiers: [String] = []
        var text = ""
        for component in components {
            guard let identifier = try? component.item.serialized() else {
                throw SignatureBaseError(nil, "has an identifier that cannot be written")
            }
            guard seen.insert(component).inserted else { throw SignatureBaseError(identifier, "is named twice") }
            do throws(ComponentFault) {
                text += "\(identifier): \(try reader.value(of: component))\n"
            } catch {
                throw SignatureBaseError(identifier, error.words)
            }
            identifiers.append(identifier)
        }
        guard let parameters = try? parameters.serialized() else {
            throw SignatureBaseError(nil, "has a parameter beside it that cannot be written")
        }
        let input = "(\(identifiers.joined(separator: " ")))\(parameters)"
        return (text + "\"@signature-params\": \(input)", input)
    }
}

/// A component that has no value, or no certain one, in a message.
struct SignatureBaseError: Error {
    /// The identifier of the component, as it is written; nil if it cannot be.
    let component: String?
    /// The fault, as the predicate of a sentence about the component.
    let fault: String

    init(_ component: String?, _ fault: String) {
        self.component = component
        self.fault = fault
    }
}

/// A fault of one component, as the predicate of a sentence.
private struct ComponentFault: Error {
    let words: String

    init(_ words: String) {
        self.words = words
    }
}

/// Finds the values of components in a message.
private struct ComponentReader {
    let message: SignedMessage
    let types: [String: StructuredFieldType]
    /// The dictionaries that were parsed, so that many components of one field parse it once.
    private var dictionaries: [Source: StructuredDictionary] = [:]
    private var queryItems: [QueryItem]?

    /// A place of a field.
    private struct Source: Hashable {
        let name: HTTPField.Name
        let isOfRequest: Bool
        let isOfTrailers: Bool
    }

    init(message: SignedMessage, types: [String: StructuredFieldType]) {
        self.message = message
        self.types = types
    }

    mutating func value(of component: SignatureComponent) throws(ComponentFault) -> String {
        guard let name = component.name else { throw ComponentFault("has a name that is no string") }
        for (parameter, value) in component.item.parameters {
            switch parameter {
            case "req", "tr", "bs", "sf":
                guard value == true else { throw ComponentFault("has a flag with a value") }
            case "key", "name":
                guard value.string != nil else { throw ComponentFault("has a parameter that is no string") }
            default: throw ComponentFault("has a parameter that is not known")
            }
        }
        if component.has("req"), message.response == nil {
            throw ComponentFault("is of a request that this one answers, which there cannot be")
        }
        return name.utf8.first == UInt8(ascii: "@")
            ? try derivedValue(name, component) : try fieldValue(name, component)
    }

    private mutating func derivedValue(
        _ name: String, _ component: SignatureComponent
    ) throws(ComponentFault) -> String {
        let isParameter = name == "@query-param"
        guard component.item.parameters.allSatisfy({ $0.key == "req" || $0.key == "name" && isParameter }) else {
            throw ComponentFault("has a parameter that only fields have")
        }
        if name == "@status" {
            guard let response = message.response, !component.has("req") else {
                throw ComponentFault("is a part of responses only")
            }
            return String(response.status.code)
        }
        guard message.response == nil || component.has("req") else {
            throw ComponentFault("is a part of requests only")
        }
        if isParameter { return try queryParameter(component.item.parameters["name"]?.string) }
        return try value(name, of: message.request)
    }

    private func value(_ name: String, of request: HTTPRequest) throws(ComponentFault) -> String {
        let target = request.path ?? "/"
        let path = target == "*" ? "" : target
        switch name {
        case "@method": return request.method.rawValue
        case "@target-uri": return try origin.description + path
        case "@authority": return try origin.authority
        case "@scheme": return try origin.scheme
        case "@request-target": return target
        case "@path":
            let path = String(path.prefix { $0 != "?" })
            return path.isEmpty ? "/" : path
        case "@query": return "?" + (query ?? "")
        default: throw ComponentFault("has a name that is not known")
        }
    }

    private var origin: Origin {
        get throws(ComponentFault) {
            guard let origin = try? Origin(message.request) else {
                throw ComponentFault("is a part of a URL that the request does not have")
            }
            return origin
        }
    }

    private var query: Substring? {
        guard let path = message.request.path, let mark = path.firstIndex(of: "?") else { return nil }
        return path[path.index(after: mark)...]
    }

    private mutating func queryParameter(_ name: String?) throws(ComponentFault) -> String {
        guard let name else { throw ComponentFault("lacks the name of a parameter") }
        let items = queryItems ?? QueryItem.items(of: query ?? "", plusIsBlank: true)
        queryItems = items
        let wanted = PercentCoding.decode(Array(name.utf8)[...], plusIsBlank: false)
        let found = items.filter { $0.name.utf8.elementsEqual(wanted) }
        guard let item = found.first else { throw ComponentFault("is not in the query") }
        guard found.count == 1 else { throw ComponentFault("is in the query several times") }
        return item.value.encodedAsInForm
    }

    private mutating func fieldValue(
        _ text: String, _ component: SignatureComponent
    ) throws(ComponentFault) -> String {
        guard let name = HTTPField.Name(text), name.canonicalName == text, component.item.parameters["name"] == nil
        else { throw ComponentFault("is no name of a field in lower case") }
        let source = Source(name: name, isOfRequest: component.has("req"), isOfTrailers: component.has("tr"))
        let lines = fields(of: source).filter { $0.name == name }
        guard !lines.isEmpty else {
            throw ComponentFault(source.isOfTrailers ? "is not among the trailer fields" : "is not among the fields")
        }
        let key = component.item.parameters["key"]?.string
        if component.has("bs") {
            guard key == nil, !component.has("sf") else {
                throw ComponentFault("has parameters that exclude each other")
            }
            return lines.map { ":\($0.bytes.trimmed.base64EncodedString()):" }.joined(separator: ", ")
        }
        // The lines of this field have commas of their own (RFC 9110, section 5.3).
        guard lines.count == 1 || text != "set-cookie" else {
            throw ComponentFault("has several lines, which only its bytes tell apart")
        }
        let value = Data(lines.map { $0.bytes.trimmed }.joined(separator: Array(", ".utf8)))
        // A byte that the other side decodes in another way would break the signature.
        guard value.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 }) else {
            throw ComponentFault("has characters that only its bytes can stand for")
        }
        let plain = String(decoding: value, as: UTF8.self)
        if let key { return try member(key, of: plain, source) }
        return component.has("sf") ? try structured(plain, text, component.type) : plain
    }

    private func fields(of source: Source) -> HTTPFields {
        switch (message.response, source.isOfRequest, source.isOfTrailers) {
        case (nil, _, false), (_, true, false): message.request.headerFields
        case (let response?, false, false): response.headerFields
        // The trailer fields of the request are not kept until its response arrives.
        case (_?, true, true): [:]
        case (_, false, true), (nil, _, true): message.trailers ?? [:]
        }
    }

    private mutating func member(_ key: String, of text: String, _ source: Source) throws(ComponentFault) -> String {
        do {
            let dictionary = try dictionaries[source] ?? StructuredDictionary(parsing: text)
            dictionaries[source] = dictionary
            guard let member = dictionary[key] else { throw ComponentFault("is no member of the field") }
            return try member.serialized()
        } catch let fault as ComponentFault {
            throw fault
        } catch {
            throw ComponentFault("is a member of a field that is no dictionary")
        }
    }

    private func structured(
        _ text: String, _ name: String, _ type: StructuredFieldType?
    ) throws(ComponentFault) -> String {
        guard let type = type ?? types[name] ?? StructuredFieldType.known[name] else {
            throw ComponentFault("is a field whose type is not known")
        }
        do {
            return switch type {
            case .item: try StructuredItem(parsing: text).serialized()
            case .list: try StructuredList(parsing: text).serialized()
            case .dictionary: try StructuredDictionary(parsing: text).serialized()
            }
        } catch {
            throw ComponentFault("is a field that is not of its type")
        }
    }
}

extension HTTPField {
    /// The bytes of the value.
    fileprivate var bytes: Data { unsafe withUnsafeBytesOfValue { unsafe Data($0) } }
}

extension Data {
    /// The bytes without the blanks and tabs at both ends.
    fileprivate var trimmed: Data {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let last = lastIndex(where: { !isBlank($0) }) else { return Data() }
        return Data(self[...last].drop(while: isBlank))
    }
}

#endif
