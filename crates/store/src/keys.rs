//! The keys of a tenant. The master key locks them, and they lock all data of the tenant.

use crate::error::StoreError;
use crate::master::Master;
use crate::row::TenantRow;
use crate::seal::{Broken, Key, Kind, bind};
use thinkthrough_core::plane::{Open, Seal, SealError, Tenant};
use zeroize::Zeroizing;

/// The opened keys of a tenant.
pub(crate) struct TenantKeys {
    pub(crate) nr: i64,
    /// Never changes while the tenant exists.
    pub(crate) lookup: Key,
    /// Ids and keys. The last one locks new data.
    data: Vec<(u32, Key)>,
}

impl TenantKeys {
    /// The locked keys of a new tenant: its look-up key, and a new data key 1.
    pub(crate) fn lock(
        tenant: &Tenant,
        lookup: &Key,
        master: &Master,
    ) -> Result<(Vec<u8>, Vec<u8>), Broken> {
        let locked_lookup = master.key.wrap(lookup, &lookup_place(tenant))?;
        Ok((locked_lookup, TenantKeys::another(tenant, 1, master)?))
    }

    /// A new locked data key.
    pub(crate) fn another(tenant: &Tenant, id: u32, master: &Master) -> Result<Vec<u8>, Broken> {
        master.key.wrap(&Key::random()?, &data_place(tenant, id))
    }

    /// Locks the same keys with another master key, and adds a new data key for new data.
    pub(crate) fn relock(
        tenant: &Tenant,
        row: &TenantRow,
        old: &Key,
        new: &Key,
    ) -> Result<TenantRow, Broken> {
        let again = |locked: &[u8], place: &[u8]| new.wrap(&old.unwrap(locked, place)?, place);
        let lookup_key = again(&row.lookup_key, &lookup_place(tenant))?;
        let kept = row.data_keys.iter();
        let kept = kept.map(|(id, locked)| Ok((*id, again(locked, &data_place(tenant, *id))?)));
        let mut data_keys = kept.collect::<Result<Vec<_>, Broken>>()?;
        let next = data_keys.last().map_or(1, |(id, _)| id.saturating_add(1));
        data_keys.push((next, new.wrap(&Key::random()?, &data_place(tenant, next))?));
        Ok(TenantRow { nr: row.nr, lookup_key, data_keys })
    }

    /// Opens the stored keys.
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

    /// The key for new data, with its id.
    pub(crate) fn current(&self) -> Option<(u32, &Key)> {
        self.data.last().map(|(id, key)| (*id, key))
    }

    pub(crate) fn data(&self, id: u32) -> Option<&Key> {
        self.data.iter().find(|(it, _)| *it == id).map(|(_, key)| key)
    }
}

/// Seals thoughts with the tenant's data key for the place that the core names.
impl Seal for TenantKeys {
    fn seal(&self, plain: Vec<u8>, aad: &[u8]) -> Result<(u32, Vec<u8>), SealError> {
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
