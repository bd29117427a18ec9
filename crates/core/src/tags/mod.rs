//! Reasoning tags inside visible text.
