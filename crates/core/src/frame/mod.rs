//! Frames: bytes into server-sent events, JSON lines and AWS event-stream messages.
