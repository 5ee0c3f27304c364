#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

extension LoopbackOrigin {
    /// Raises the number of descriptors that this process may have open, as far as the system lets it.
    ///
    /// Many systems start a process with 1,024 or fewer; a thousand exchanges in one process take two thousand, one
    /// for the client and one for the origin.
    ///
    /// - Parameter count: The number to have; a smaller one than now changes nothing.
    /// - Returns: The number that the process has from now on.
    @discardableResult public static func raiseDescriptorLimit(to count: Int = 8192) -> Int {
        var limit = rlimit()
        // Both calls read or write the one value, within the call.
        guard unsafe getrlimit(SocketPlatform.descriptorResource, &limit) == 0 else { return 0 }
        let previous = limit.rlim_cur
        limit.rlim_cur = max(previous, min(limit.rlim_max, rlim_t(max(0, count))))
        guard unsafe setrlimit(SocketPlatform.descriptorResource, &limit) == 0 else { return Int(clamping: previous) }
        return Int(clamping: limit.rlim_cur)
    }
}
