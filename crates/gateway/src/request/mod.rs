//! The request before it is sent: its body, its tenant, its settings, and the stored data for it.

pub(crate) mod asking;
pub(crate) mod edge;
pub(crate) mod identity;
pub(crate) mod keeping;
pub(crate) mod provider_resource;
pub(crate) mod recall;
pub(crate) mod references;
pub(crate) mod take;
