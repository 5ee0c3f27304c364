// Whoever composes a stack names methods, statuses and fields: one import is enough for that.
@_exported public import HTTPTypes
