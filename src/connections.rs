//! Connections to upstreams, shared by all models whose requests travel alike, and kept when the configuration is
//! read again.

use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_client::{Client, ClientConfig, ClientError};

/// How many ways to travel are remembered; each reading of the configuration can bring one.
const REMEMBERED: usize = 8;

/// One client for each way in which requests travel. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections(Arc<Mutex<Vec<Way>>>);

#[derive(Debug)]
struct Way {
    config: ClientConfig,
    /// The contents of the file of authorities: a replaced file needs a new client.
    authorities: Option<Vec<u8>>,
    client: Client,
}

impl Connections {
    /// The client that sends requests in this way.
    pub(crate) fn client(&self, config: &ClientConfig) -> Result<Client, ClientError> {
        // A file that cannot be read is the new client's affair.
        let authorities = config.ca_file.as_ref().and_then(|file| std::fs::read(file).ok());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |way: &&Way| way.config == *config && way.authorities == authorities;
        if let Some(way) = known.iter().find(same) {
            return Ok(way.client.clone());
        }
        let client = Client::new(config.clone())?;
        if known.len() >= REMEMBERED {
            known.remove(0);
        }
        known.push(Way { config: config.clone(), authorities, client: client.clone() });
        Ok(client)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use thinkthrough_client::ProxyRules;

    #[test]
    fn requests_that_travel_alike_share_a_client() {
        let connections = Connections::default();
        let plain = ClientConfig::default();
        let mut slow = plain.clone();
        slow.timeouts.connect = Duration::from_secs(77);
        let through = |password: &str| {
            let proxy = format!("http://user:{password}@proxy.test:3128");
            let proxy = ProxyRules::single(&proxy, "").unwrap();
            ClientConfig { proxy, ..ClientConfig::default() }
        };
        for (config, expected) in [
            (&plain, 1),
            (&plain, 1),
            (&slow, 2),
            (&plain, 2),
            (&through("a"), 3),
            (&through("a"), 3),
            (&through("b"), 4),
        ] {
            drop(connections.clone().client(config).unwrap());
            assert_eq!(connections.len(), expected);
        }
        for seconds in 0..100 {
            slow.timeouts.idle = Duration::from_secs(seconds);
            drop(connections.client(&slow).unwrap());
        }
        assert_eq!(connections.len(), REMEMBERED);
    }
}
