#if os(Linux)
import DecorumCurl
import HTTPTypes

/// A list of lines as libcurl takes them.
///
/// `@unchecked Sendable`, since it is only read once it is shared, and freed by whoever lets go of it last.
@safe final class CurlList: @unchecked Sendable {
    private let library: CurlLibrary
    private(set) var pointer: UnsafeMutableRawPointer?

    init(_ library: CurlLibrary) {
        self.library = library
    }

    deinit {
        unsafe decorum_curl_list_free(library.functions, pointer)
    }

    /// Adds a line; one that the system has no memory for is left out.
    func append(_ line: String) {
        unsafe pointer = decorum_curl_list_append(library.functions, pointer, line) ?? pointer
    }

    /// Adds the line of a field, byte for byte.
    func append(_ field: HTTPField) {
        // A line that ends with a semicolon stands for an empty value.
        guard !field.value.isEmpty else {
            append(field.name.rawName + ";")
            return
        }
        var line = Array(field.name.rawName.utf8)
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

    /// Gives the lines away to libcurl, which frees them.
    func release() -> UnsafeMutableRawPointer? {
        defer { unsafe pointer = nil }
        return unsafe pointer
    }
}
#endif
