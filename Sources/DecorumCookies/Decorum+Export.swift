// An app that keeps cookies composes its stack too, so one import gives it both.
@_exported public import Decorum
