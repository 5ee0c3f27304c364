// One import for all files of the target, since most tests of transports are isolated.
@_exported import DecorumTestSupport
