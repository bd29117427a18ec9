use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::connect::BoxIo;
use crate::error::{ClientError, cause, chain};

/// The two ways of opening a TLS connection: to a server, which may choose HTTP/2, and to a proxy.
#[derive(Clone)]
pub(crate) struct Tls {
    server: Arc<ClientConfig>,
    proxy: Arc<ClientConfig>,
}

/// The result of a finished handshake.
pub(crate) struct Secured {
    pub(crate) io: BoxIo,
    pub(crate) is_h2: bool,
}

impl Tls {
    /// Trusts the built-in authorities and those of a PEM file.
    pub(crate) fn new(ca_file: Option<&Path>, only_h2: bool) -> Result<Self, ClientError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(path) = ca_file {
            add_authorities(&mut roots, path)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let proxy = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ClientError::Config(format!("TLS cannot be set up: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut server = proxy.clone();
        server.alpn_protocols =
            if only_h2 { vec![b"h2".to_vec()] } else { vec![b"h2".to_vec(), b"http/1.1".to_vec()] };
        Ok(Self { server: Arc::new(server), proxy: Arc::new(proxy) })
    }

    /// Secures a connection to a server; `host` is its bare name or address.
    pub(crate) async fn to_server(&self, io: BoxIo, host: &str) -> Result<Secured, ClientError> {
        secure(Arc::clone(&self.server), io, host).await
    }

    /// Secures a connection to a proxy, which speaks HTTP/1.1.
    pub(crate) async fn to_proxy(&self, io: BoxIo, host: &str) -> Result<BoxIo, ClientError> {
        Ok(secure(Arc::clone(&self.proxy), io, host).await?.io)
    }
}

async fn secure(config: Arc<ClientConfig>, io: BoxIo, host: &str) -> Result<Secured, ClientError> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| ClientError::Request(format!("`{host}` is not a valid host name for TLS")))?;
    let stream = TlsConnector::from(config)
        .connect(name, io)
        .await
        .map_err(|error| ClientError::Tls { host: host.to_owned(), detail: explain(&error) })?;
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok(Secured { io: Box::new(stream), is_h2 })
}

fn add_authorities(roots: &mut RootCertStore, path: &Path) -> Result<(), ClientError> {
    let refuse = |why: String| {
        ClientError::Config(format!(
            "`client.ca_file` `{}` {why}; give a PEM file with the certificates of your authorities",
            path.display()
        ))
    };
    let pem = std::fs::read(path).map_err(|error| refuse(format!("cannot be read ({error})")))?;
    let mut found = false;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate =
            certificate.map_err(|error| refuse(format!("is not valid PEM ({error})")))?;
        roots
            .add(certificate)
            .map_err(|error| refuse(format!("holds an unusable certificate ({error})")))?;
        found = true;
    }
    if found { Ok(()) } else { Err(refuse("holds no certificate".to_owned())) }
}

/// Explains a failed handshake and its remedy.
fn explain(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| cause::<rustls::Error>(inner));
    match inner {
        Some(rustls::Error::InvalidCertificate(reason)) => explain_certificate(reason),
        Some(rustls::Error::InvalidMessage(_)) => {
            "the server does not speak TLS on this port; try `http://`, or another port".to_owned()
        }
        Some(rustls::Error::NoApplicationProtocol) => {
            "the server refuses HTTP/2; turn `http2_prior_knowledge` off".to_owned()
        }
        Some(other) => format!("the TLS handshake failed ({other}); ask who runs the server"),
        None => format!("the TLS handshake failed ({}); try again", chain(error)),
    }
}

fn explain_certificate(reason: &CertificateError) -> String {
    use CertificateError as E;
    match reason {
        // A new authority under an old name shows as a wrong signature.
        E::UnknownIssuer | E::BadSignature => {
            "its certificate is signed by an unknown authority; if you trust that \
             authority, name its PEM file as `client.ca_file`"
                .to_owned()
        }
        E::Expired | E::ExpiredContext { .. } => {
            "its certificate has expired; check the clock, or ask who runs the server".to_owned()
        }
        E::NotValidYet | E::NotValidYetContext { .. } => {
            "its certificate is not valid yet; check the clock".to_owned()
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            "its certificate belongs to another name; check the base URL".to_owned()
        }
        // The list is rustls' own and grows, so the rest speaks with its words.
        other => format!("its certificate is refused ({other}); ask who runs the server"),
    }
}
