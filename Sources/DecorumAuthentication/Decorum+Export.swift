// An app that signs in composes its stack too, so one import gives it both.
@_exported public import Decorum
