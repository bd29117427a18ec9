//! Records of older gateways: they knew an answer by the whole conversation before it, and find it by its ids, too, once
//! they have the keys for that.

use crate::error::StoreError;
use crate::keys::TenantKeys;
use crate::row::{Anchored, OldRecord};
use crate::store::Store;
use crate::vault::{head_place, in_index, open};
use thinkthrough_core::plane::{Exact as _, Place, Tenant};
use thinkthrough_core::restore::{Found, Secret, with_anchors};

/// How many records are looked at in one step, so that writers do not wait long.
const STEP: u32 = 64;

impl Store {
    /// Gives the next records of older gateways the keys that the ids of their calls give; says whether there may be
    /// more. A gateway calls this until there are none. One that is stopped in between goes on where it was, and of
    /// several that share a store each may do it.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn anchor_old_records(&self) -> Result<bool, StoreError> {
        if !self.has_old_records() {
            return Ok(false);
        }
        let old = self.backend().old_records(STEP).await?;
        let Some(last) = old.last().map(|it| it.nr) else { return Ok(false) };
        let mut anchored = Vec::new();
        for old in &old {
            anchored.extend(self.anchored(old).await?);
        }
        self.backend().anchor_records(anchored, last).await?;
        Ok(true)
    }

    /// One that cannot be opened stays as it is.
    async fn anchored(&self, old: &OldRecord) -> Result<Option<Anchored>, StoreError> {
        let Ok(tenant) = Tenant::stored(&old.tenant) else { return Ok(None) };
        let keys = match self.keys(&tenant).await {
            Err(StoreError::Damaged { .. }) | Ok(None) => return Ok(None),
            keys => keys?,
        };
        Ok(keys.and_then(|keys| anchored(&tenant, &keys, old)))
    }
}

fn anchored(tenant: &Tenant, keys: &TenantKeys, old: &OldRecord) -> Option<Anchored> {
    let Found { head, kept } = open(tenant, keys, old.row.clone())?;
    let place = Place { tenant, record: &head.id, origin: &head.origin, position: 0 };
    let outline = kept.open(&place, keys).ok()?;
    let secret = Secret::new(*keys.lookup.bytes());
    let head = with_anchors(&head, &outline, &secret)?;
    let sealed = keys.data(kept.key())?.seal(head.to_bytes(), &head_place(tenant, &head.id));
    let keys = head.keys.anchors.iter().map(in_index).collect();
    Some(Anchored { nr: old.nr, head: sealed.ok()?, keys })
}
