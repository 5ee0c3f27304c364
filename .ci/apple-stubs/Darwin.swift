// What Apple's C library has and Glibc lacks, or declares with another type. Part of AppleFoundation too, so that a file that
// imports Foundation alone finds these declarations, and not those of Glibc.
@_exported import Glibc

public typealias posix_spawn_file_actions_t = UnsafeMutableRawPointer

public let F_GETNOSIGPIPE: Int32 = 74
public let F_SETNOSIGPIPE: Int32 = 73
public let F_FULLFSYNC: Int32 = 51
public let O_EVTONLY: Int32 = 0x8000
public let SO_NOSIGPIPE: Int32 = 0x1022
public var SOCK_STREAM: Int32 { 1 }
public var SOCK_DGRAM: Int32 { 2 }
public var RLIMIT_NOFILE: Int32 { 8 }
public var RUSAGE_SELF: Int32 { 0 }

@discardableResult public func getrusage(_ who: Int32, _ usage: UnsafeMutablePointer<rusage>!) -> Int32 { 0 }
@discardableResult public func getrlimit(_ kind: Int32, _ limit: UnsafeMutablePointer<rlimit>!) -> Int32 { 0 }
@discardableResult public func setrlimit(_ kind: Int32, _ limit: UnsafePointer<rlimit>!) -> Int32 { 0 }

@discardableResult public func posix_spawn_file_actions_init(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!
) -> Int32 { 0 }
@discardableResult public func posix_spawn_file_actions_destroy(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!
) -> Int32 { 0 }
@discardableResult public func posix_spawn_file_actions_adddup2(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!, _ descriptor: Int32, _ copy: Int32
) -> Int32 { 0 }
@discardableResult public func posix_spawn(
    _ process: UnsafeMutablePointer<pid_t>!, _ path: UnsafePointer<CChar>!,
    _ actions: UnsafePointer<posix_spawn_file_actions_t?>!, _ attributes: UnsafePointer<UnsafeMutableRawPointer?>!,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>!,
    _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>!
) -> Int32 { 0 }

extension stat {
    public var st_mtimespec: timespec { st_mtim }
}
