//! A certificate authority of the tests' own, and servers that it vouches for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use thinkthrough_client::{Client, ClientConfig};
use tokio_rustls::TlsAcceptor;

use crate::config;

/// An authority that signs certificates, and the PEM file that makes it trusted.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: TempFile,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = TempFile::new(&issuer.pem());
        Self { issuer, file }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.file.path().to_owned()
    }

    /// A server's side of TLS, with a certificate for some names and protocols in order of preference.
    pub(crate) fn server(&self, names: &[&str], protocols: &[&str]) -> TlsAcceptor {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        self.server_with(&CertificateParams::new(names).unwrap(), protocols)
    }

    /// The same with a certificate that expired long ago.
    pub(crate) fn expired_server(&self, name: &str) -> TlsAcceptor {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        self.server_with(&params, &[])
    }

    fn server_with(&self, params: &CertificateParams, protocols: &[&str]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    /// A client that trusts this authority.
    pub(crate) fn client(&self) -> Client {
        Client::new(ClientConfig { ca_file: Some(self.file()), ..config() }).unwrap()
    }
}

/// A file in the system's temporary folder that goes away with its owner.
pub(crate) struct TempFile(PathBuf);

impl TempFile {
    pub(crate) fn new(text: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("thinkthrough-client-{}-{number}.pem", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // A file that is already gone needs no removal.
        let _ = std::fs::remove_file(&self.0);
    }
}
