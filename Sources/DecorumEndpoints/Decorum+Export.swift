// An app that makes typed calls composes its stack too, so one import gives it both.
@_exported public import Decorum
