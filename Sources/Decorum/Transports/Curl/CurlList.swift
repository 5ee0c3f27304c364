#if os(Linux)
import DecorumCurl
import HTTPTypes

/// A list of lines as libcurl takes them.
///
/// `@unchecked Sendable`, since it is only read after it is shared, and is freed when the last reference is released.
@safe final class CurlList: @unchecked Sendable {
    private let library: CurlLibrary
    private(set) var pointer: UnsafeMutableRawPointer?

    init(_ library: CurlLibrary) {
        self.library = library
    }

    deinit {
        unsafe decorum_curl_list_free(library.functions, pointer)
    }

    /// Adds a line, or ignores it where the system has no memory for it.
    func append(_ line: String) {
        unsafe pointer = decorum_curl_list_append(library.functions, pointer, line) ?? pointer
    }

    /// Adds the line of a field, byte for byte.
    func append(_ field: HTTPField) {
        var line: [UInt8] = []
        append(field, using: &line)
    }

    /// Adds the line of a field, and uses an array for it whose memory serves the next ones.
    func append(_ field: HTTPField, using line: inout [UInt8]) {
        // libcurl sends a field with an empty value for a line that ends with a semicolon.
        guard !field.value.isEmpty else {
            append(field.name.rawName + ";")
            return
        }
        line.removeAll(keepingCapacity: true)
        line.append(contentsOf: field.name.rawName.utf8)
        line.append(UInt8(ascii: ":"))
        line.append(UInt8(ascii: " "))
        unsafe field.withUnsafeBytesOfValue { unsafe line.append(contentsOf: $0) }
        line.append(0)
        unsafe line.withUnsafeBufferPointer { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { line in
                unsafe pointer = decorum_curl_list_append(library.functions, pointer, line.baseAddress) ?? pointer
            }
        }
    }

    /// Transfers ownership of the lines to libcurl, which frees them.
    func release() -> UnsafeMutableRawPointer? {
        defer { unsafe pointer = nil }
        return unsafe pointer
    }
}
#endif
