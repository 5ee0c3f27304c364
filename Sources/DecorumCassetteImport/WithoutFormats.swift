#if !CassetteImport
package import DecorumTesting

extension Array where Element == any ForeignFormat {
    /// No further formats, since the trait `CassetteImport` is not enabled.
    package static var known: [any ForeignFormat] { [] }
}
#endif
