//! What recorded traffic does not show; recorded traffic itself is read in `tests/`.
