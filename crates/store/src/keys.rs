//! The keys of a tenant: locked with the master key, and locking everything that is the tenant's.

use crate::error::StoreError;
use crate::master::Master;
use crate::row::TenantRow;
use crate::seal::{Broken, Key, Kind, bind};
use thinkthrough_core::plane::{Open, Seal, SealError, Tenant};
use zeroize::Zeroizing;

/// The keys of a tenant, open.
pub(crate) struct TenantKeys {
    pub(crate) nr: i64,
    /// Never changes while the tenant is there.
    pub(crate) lookup: Key,
    /// By id; the last one locks what is new.
    data: Vec<(u32, Key)>,
}

/// Keys for a new tenant: a look-up key, and data key 1.
pub(crate) struct NewKeys {
    pub(crate) lookup: Key,
    pub(crate) locked_lookup: Vec<u8>,
    pub(crate) locked_data: Vec<u8>,
}

impl TenantKeys {
    /// Keys for a new tenant.
    pub(crate) fn make(tenant: &Tenant, master: &Master) -> Result<NewKeys, Broken> {
        let lookup = Key::random()?;
        Ok(NewKeys {
            locked_lookup: master.key.wrap(&lookup, &lookup_place(tenant))?,
            locked_data: master.key.wrap(&Key::random()?, &data_place(tenant, 1))?,
            lookup,
        })
    }

    /// A locked data key that follows those that a tenant has.
    pub(crate) fn another(tenant: &Tenant, id: u32, master: &Master) -> Result<Vec<u8>, Broken> {
        master.key.wrap(&Key::random()?, &data_place(tenant, id))
    }

    /// Opens what a store kept.
    pub(crate) fn open(
        tenant: &Tenant,
        row: &TenantRow,
        master: &Master,
    ) -> Result<Self, StoreError> {
        let damaged = |_| StoreError::Damaged { what: format!("a key of the tenant `{tenant}`") };
        let lookup = master.key.unwrap(&row.lookup_key, &lookup_place(tenant)).map_err(damaged)?;
        let data = row
            .data_keys
            .iter()
            .map(|(id, wrapped)| {
                let key = master.key.unwrap(wrapped, &data_place(tenant, *id)).map_err(damaged)?;
                Ok((*id, key))
            })
            .collect::<Result<_, _>>()?;
        Ok(TenantKeys { nr: row.nr, lookup, data })
    }

    /// The key that locks what is new, with its id.
    pub(crate) fn current(&self) -> Option<(u32, &Key)> {
        self.data.last().map(|(id, key)| (*id, key))
    }

    pub(crate) fn data(&self, id: u32) -> Option<&Key> {
        self.data.iter().find(|(it, _)| *it == id).map(|(_, key)| key)
    }
}

/// Thoughts are locked with the tenant's data key, for the place that the core names.
impl Seal for TenantKeys {
    fn seal(&self, plain: &[u8], aad: &[u8]) -> Result<(u32, Vec<u8>), SealError> {
        let (id, key) = self.current().ok_or(SealError::Unavailable)?;
        let sealed = key.seal(plain, &kept_place(aad)).map_err(|_| SealError::Unavailable)?;
        Ok((id, sealed))
    }
}

impl Open for TenantKeys {
    fn open(&self, key: u32, sealed: &[u8], aad: &[u8]) -> Result<Vec<u8>, SealError> {
        let data = self.data(key).ok_or(SealError::KeyGone(key))?;
        let plain: Result<Zeroizing<Vec<u8>>, Broken> = data.open(sealed, &kept_place(aad));
        plain.map(|plain| plain.to_vec()).map_err(|_| SealError::Altered)
    }
}

fn kept_place(aad: &[u8]) -> Vec<u8> {
    let mut place = bind(Kind::Kept, &[], &[]);
    place.extend_from_slice(aad);
    place
}

fn lookup_place(tenant: &Tenant) -> Vec<u8> {
    bind(Kind::LookupKey, &[tenant.as_str()], &[])
}

fn data_place(tenant: &Tenant, id: u32) -> Vec<u8> {
    bind(Kind::DataKey, &[tenant.as_str()], &[id.into()])
}
