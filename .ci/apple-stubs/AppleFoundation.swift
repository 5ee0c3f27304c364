// What Foundation and Dispatch have on Apple's systems only.
@_exported import Dispatch
@_exported import Foundation
@_exported import FoundationNetworking
public import Security

public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

extension URLProtectionSpace {
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    public convenience init(trust: SecTrust) { fatalError() }
    public convenience init(identity: SecIdentity, certificates: [Any]?, persistence: URLCredential.Persistence) {
        fatalError()
    }
}

extension URLSessionConfiguration {
    public class func background(withIdentifier identifier: String) -> URLSessionConfiguration { .default }
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { .TLSv12 }
        set {}
    }
}

extension URLRequest {
    public var allowsConstrainedNetworkAccess: Bool {
        get { true }
        set {}
    }
    public var allowsExpensiveNetworkAccess: Bool {
        get { true }
        set {}
    }
}

extension URLRequest.NetworkServiceType {
    public static var responsiveData: Self { .background }
    public static var avStreaming: Self { .background }
    public static var responsiveAV: Self { .background }
    public static var callSignaling: Self { .background }
}

extension URLError {
    public enum NetworkUnavailableReason: Int, Sendable {
        case cellular = 0
        case expensive = 1
        case constrained = 2
        case ultraConstrained = 3
    }
    public var networkUnavailableReason: NetworkUnavailableReason? { nil }
}

extension Stream {
    @unsafe public class func getBoundStreams(
        withBufferSize bufferSize: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {}
}

public typealias CFWriteStream = OutputStream
public func CFWriteStreamSetDispatchQueue(_ stream: CFWriteStream!, _ queue: DispatchQueue!) {}

extension NSObject {
    public func perform(
        _ aSelector: Selector, on thr: Thread, with arg: Any?, waitUntilDone wait: Bool, modes array: [String]?
    ) {}
}

/// `#selector(x)` is read as `Selector("x")`, and `@objc` is left out, since Linux has neither.
public struct Selector {
    public init(_ name: String) {}
}

#if !os(macOS)
extension ProcessInfo {
    public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
}
#endif

public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {
    var data: DispatchSource.FileSystemEvent { get }
}

extension DispatchSource {
    public class func makeFileSystemObjectSource(
        fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue? = nil
    ) -> any DispatchSourceFileSystemObject { fatalError() }
}
