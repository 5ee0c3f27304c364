// Code that composes a stack names methods, statuses and fields, so one import gives it those types too.
@_exported public import HTTPTypes
