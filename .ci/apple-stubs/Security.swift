// The types of Core Foundation are those that Swift bridges them to, since Linux has no bridging.
public import Foundation

public typealias CFTypeRef = AnyObject
public typealias CFAllocator = AnyObject
public typealias CFArray = [Any]
public typealias CFData = Data
public typealias CFDictionary = [AnyHashable: Any]
public typealias CFError = NSError
public typealias CFString = String
public typealias CFTypeID = UInt
public typealias OSStatus = Int32

// Classes of Core Foundation, which are not Sendable.
public class SecCertificate {}
public class SecIdentity {}
public class SecTrust {}

public var errSecSuccess: OSStatus { 0 }
@discardableResult public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { CFData() }
@discardableResult public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData)
    -> SecCertificate?
{ nil }
@discardableResult public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus { 0 }
public var kSecImportExportPassphrase: CFString { "" }
public var kSecImportItemIdentity: CFString { "" }
public var kSecImportItemCertChain: CFString { "" }
public var kSecImportToMemoryOnly: CFString { "" }
@discardableResult public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }
@discardableResult public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?)
    -> Bool
{ false }
@discardableResult public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?)
    -> OSStatus
{ 0 }
@discardableResult public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool)
    -> OSStatus
{ 0 }

public func CFErrorGetCode(_ err: CFError!) -> Int { 0 }
public func CFGetTypeID(_ cf: CFTypeRef!) -> CFTypeID { 0 }
public func SecIdentityGetTypeID() -> CFTypeID { 0 }
