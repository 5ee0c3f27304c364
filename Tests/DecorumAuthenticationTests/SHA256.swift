#if canImport(CryptoKit)
import CryptoKit
import Foundation

/// SHA-256 of CryptoKit, for files that do not import it.
enum SHA256 {
    static func hash(data: Data) -> [UInt8] { Array(CryptoKit.SHA256.hash(data: data)) }
}
#else
import Foundation

/// SHA-256 of the system's libcrypto, since the package depends on no library that has it.
enum SHA256 {
    private typealias Function =
        @convention(c) (UnsafeRawPointer?, Int, UnsafeMutablePointer<UInt8>) -> UnsafeMutablePointer<UInt8>?

    /// The digest; empty where there is no such library, which no proof key accepts.
    static func hash(data: Data) -> [UInt8] {
        guard let library = unsafe dlopen("libcrypto.so.3", RTLD_NOW), let symbol = unsafe dlsym(library, "SHA256")
        else { return [] }
        let function = unsafe unsafeBitCast(symbol, to: Function.self)
        var digest = [UInt8](repeating: 0, count: 32)
        // The function reads as many bytes as the data has, and writes 32.
        _ = unsafe data.withUnsafeBytes { unsafe function($0.baseAddress, $0.count, &digest) }
        return digest
    }
}
#endif
