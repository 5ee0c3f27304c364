// A test that uses a cassette needs one import.
@_exported public import DecorumTesting
