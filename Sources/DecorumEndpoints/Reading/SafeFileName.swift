/// A name of a file that a server has chosen, reduced to one that leads to no other folder and no device.
///
/// - Only the text behind the last slash or backslash counts, so `../../.ssh/config` becomes `config`.
/// - Control characters and those that change the direction of text are left out, since they make a name look like another.
/// - The characters that a file system of Windows refuses (`< > : " | ? *`) become an underscore.
/// - Dots and blanks at the begin and at the end are left out, so no name is hidden, `.` or `..`.
/// - A name of a device of Windows, such as `NUL` or `com1.txt`, gets an underscore before it.
/// - A name with more than 200 bytes is cut, and keeps an extension of up to 20 bytes.
public struct SafeFileName: Sendable, Hashable {
    /// The name.
    public let text: String

    /// Makes a safe name.
    ///
    /// - Parameter name: Any text; nil is the result where nothing of it is left.
    public init?(_ name: String) {
        let last = name.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last
        var scalars = String.UnicodeScalarView()
        for scalar in last ?? "".unicodeScalars[...] {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: break
            default: scalars.append("<>:\"|?*".unicodeScalars.contains(scalar) ? "_" : scalar)
            }
        }
        let text = Self.cut(Self.trimmed(String(scalars)[...]))
        guard !text.isEmpty else { return nil }
        self.text = Self.isDevice(text) ? "_" + text : text
    }

    /// The text without dots, blanks, and marks that have no letter before them, at the begin and at the end.
    private static func trimmed(_ text: Substring) -> Substring {
        let isLeftOut = { (scalar: Unicode.Scalar) in scalar == "." || scalar.properties.isWhitespace }
        // A mark joins the dot before it to another character, which is still a dot to the file system.
        var text = text.unicodeScalars.drop { isLeftOut($0) || $0.properties.isMark }
        while let last = text.last, isLeftOut(last) { text.removeLast() }
        return Substring(text)
    }

    /// The name within its limit of bytes, cut between characters.
    private static func cut(_ name: Substring) -> String {
        let limit = 200
        guard name.utf8.count > limit else { return String(name) }
        // Characters are slow to read from the end: there may be thousands of them before a boundary is found.
        let dot = name.utf8.suffix(21).lastIndex(of: UInt8(ascii: "."))
        let ending = dot.map { name[$0...] } ?? ""
        var stem = name[..<(dot ?? name.endIndex)]
        // A character may have any number of scalars, so the scalars are counted.
        var length = stem.utf8.count
        while length + ending.utf8.count > limit, let last = stem.unicodeScalars.popLast() {
            length -= UTF8.width(last)
        }
        return String(trimmed(stem) + ending)
    }

    private static func isDevice(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }.trimmingSuffix { $0 == " " }.uppercased()
        if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(stem) { return true }
        guard stem.hasPrefix("COM") || stem.hasPrefix("LPT"), stem.count == 4, let digit = stem.last else {
            return false
        }
        return "0123456789¹²³".contains(digit)
    }
}

extension SafeFileName: CustomStringConvertible {
    /// The name.
    public var description: String { text }
}

extension Unicode.Scalar.Properties {
    fileprivate var isMark: Bool {
        [.nonspacingMark, .spacingMark, .enclosingMark].contains(generalCategory)
    }
}

extension Substring {
    fileprivate func trimmingSuffix(while isLeftOut: (Character) -> Bool) -> Substring {
        var text = self
        while let last = text.last, isLeftOut(last) { text.removeLast() }
        return text
    }
}
