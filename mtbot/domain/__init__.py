"""The words of mtclaw: values, ports and errors that every layer shares; no I/O, no clock, no third-party driver."""
