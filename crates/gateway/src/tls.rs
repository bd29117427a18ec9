//! The certificate of the gateway's listeners.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// A certificate with its key, as the handshakes use it.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads a certificate chain and its key, both in PEM.
    ///
    /// # Errors
    /// When they cannot be read or do not belong together, in a sentence that names the file.
    pub fn read(cert: &Path, key: &Path) -> Result<Self, String> {
        let chain = CertificateDer::pem_file_iter(cert)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| {
                format!("the certificate `{}` cannot be read: {error}", cert.display())
            })?;
        if chain.is_empty() {
            return Err(format!("`{}` holds no certificate; give a PEM file", cert.display()));
        }
        let secret = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| format!("the key `{}` cannot be read: {error}", key.display()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?;
        let mut config =
            builder.with_no_client_auth().with_single_cert(chain, secret).map_err(|error| {
                format!("`{}` and `{}` cannot be used: {error}", cert.display(), key.display())
            })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls(Arc::new(config)))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
