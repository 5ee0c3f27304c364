#if os(Linux)
/// Bytes that stay where they are, so that every handle can point to them.
///
/// `@unchecked Sendable`, since they never change, and are freed by whoever lets go of them last.
@safe final class CurlBytes: @unchecked Sendable {
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ text: String) {
        let utf8 = Array(text.utf8)
        unsafe bytes = .allocate(byteCount: utf8.count, alignment: 1)
        unsafe bytes.copyBytes(from: utf8)
    }

    deinit {
        // They may be a private key.
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe bytes.deallocate()
    }

    var pointer: UnsafeRawPointer? { unsafe UnsafeRawPointer(bytes.baseAddress) }
    var count: Int { unsafe bytes.count }
}
#endif
