//! Locks all keys of a store with another master key. Each database does this in one transaction.

use crate::keys::TenantKeys;
use crate::master;
use crate::row::{InstallRow, TenantRow};
use crate::seal::Key;
use thinkthrough_core::plane::Tenant;

/// A change of the master key.
#[derive(Clone)]
pub(crate) struct Relock {
    /// The check of the old key. If the store has another check, another process was faster.
    pub(crate) check: Vec<u8>,
    pub(crate) old: Key,
    pub(crate) new: Key,
}

/// The result of a change of the master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Relocked {
    /// All keys are locked with the new one. The number of tenants.
    Done(u64),
    /// The store has another key than `old`. No row was changed.
    Moved,
    /// This key could not be opened. No row was changed.
    Damaged(String),
}

/// The rows of a store under its new master key.
pub(crate) struct Rows {
    pub(crate) check: Vec<u8>,
    pub(crate) install_key: Vec<u8>,
    pub(crate) tenants: Vec<TenantRow>,
}

impl Relock {
    /// Computes the new rows, or the reason why the store must not be changed.
    pub(crate) fn rows(
        &self,
        install: Option<&InstallRow>,
        tenants: &[(String, TenantRow)],
    ) -> Result<Rows, Relocked> {
        let Some(install) = install.filter(|row| row.key_check == self.check) else {
            return Err(Relocked::Moved);
        };
        let own = || Relocked::Damaged("the install key".to_owned());
        let key = install.install_key.as_ref().and_then(|it| master::open_own(it, &self.old).ok());
        let install_key = master::lock_own(&key.ok_or_else(own)?, &self.new).map_err(|_| own())?;
        let relocked = tenants.iter().map(|(name, row)| {
            let tenant = Tenant::stored(name).map_err(|_| ())?;
            TenantKeys::relock(&tenant, row, &self.old, &self.new).map_err(|_| ())
        });
        let relocked = relocked.zip(tenants).map(|(relocked, (name, _))| {
            relocked.map_err(|()| Relocked::Damaged(format!("a key of the tenant `{name}`")))
        });
        Ok(Rows {
            check: master::check(&self.new).map_err(|_| own())?,
            install_key,
            tenants: relocked.collect::<Result<_, _>>()?,
        })
    }
}
