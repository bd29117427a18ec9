//! From a model's name to the routes that answer it: provider, keys that take turns, the tenant behind them.

pub(crate) mod list;
pub(crate) mod pool;
pub(crate) mod route;
pub(crate) mod tenant;
