//! The certificate of simulators that speak TLS.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate with its key. It offers HTTP/2 and HTTP/1.1.
#[derive(Clone)]
pub struct SimTls(Arc<ServerConfig>);

impl SimTls {
    /// Reads a certificate chain and its key from PEM files.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the file if it cannot be read or used.
    pub fn read(cert: &Path, key: &Path) -> Result<Self, String> {
        let unread = |file: &Path, error: rustls::pki_types::pem::Error| {
            format!("`{}` cannot be read: {error}; give a PEM file", file.display())
        };
        let chain =
            CertificateDer::pem_file_iter(cert).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| unread(cert, error))?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unread(key, error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
        let mut config = config.map_err(|error| {
            format!("`{}` and `{}` cannot be used: {error}", cert.display(), key.display())
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(SimTls(Arc::new(config)))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}

impl fmt::Debug for SimTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimTls")
    }
}
