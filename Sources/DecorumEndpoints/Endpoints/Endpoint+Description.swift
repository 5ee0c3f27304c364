import Decorum

extension Endpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, the path template and the type of the value; never a parameter, a field or content.
    public var description: String { "\(method) \(path.text) with a value of \(Value.self)" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, so that `dump` shows no parameter and no field.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
