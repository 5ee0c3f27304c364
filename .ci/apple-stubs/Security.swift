// The types of Core Foundation are those that Swift bridges them to, since Linux has no bridging.
public import Foundation

public typealias CFTypeRef = AnyObject
public typealias CFAllocator = AnyObject
public typealias CFArray = [Any]
public typealias CFData = Data
public typealias CFDictionary = [AnyHashable: Any]
public typealias CFError = NSError
public typealias CFString = String
public typealias OSStatus = Int32

// Classes of Core Foundation, which are not Sendable.
public class SecCertificate {}
public class SecIdentity {}
public class SecKey {}
public class SecPolicy {}
public class SecTrust {}

public var errSecSuccess: OSStatus { 0 }
public var errSecItemNotFound: OSStatus { -25300 }
public var errSecAuthFailed: OSStatus { -25293 }
public var errSecPkcs12VerifyFailure: OSStatus { -25264 }
@discardableResult public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?)
    -> CFString?
{ nil }

@discardableResult public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { CFData() }
@discardableResult public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? { nil }
@discardableResult public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? { nil }
@discardableResult public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData)
    -> SecCertificate?
{ nil }
@discardableResult public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus { 0 }

@discardableResult public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? { nil }
@discardableResult public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { nil }
public var kSecAttrKeyType: CFString { "" }
public var kSecAttrKeySizeInBits: CFString { "" }
public var kSecAttrKeyTypeRSA: CFString { "" }
public var kSecAttrKeyTypeECSECPrimeRandom: CFString { "" }

@discardableResult public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus { 0 }
public var kSecImportExportPassphrase: CFString { "" }
public var kSecImportItemIdentity: CFString { "" }
public var kSecImportItemCertChain: CFString { "" }
#if os(macOS)
public var kSecImportToMemoryOnly: CFString { "" }
#endif

@discardableResult public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?)
    -> OSStatus
{ 0 }
@discardableResult public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?)
    -> OSStatus
{ 0 }
@discardableResult public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    0
}
@discardableResult public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }
public var kSecClass: CFString { "" }
public var kSecClassIdentity: CFString { "" }
public var kSecAttrLabel: CFString { "" }
public var kSecMatchLimit: CFString { "" }
public var kSecMatchLimitOne: CFString { "" }
public var kSecReturnRef: CFString { "" }
public var kSecValuePersistentRef: CFString { "" }

@discardableResult public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy() }
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
@discardableResult public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus { 0 }
