//! The one TLS configuration of the process: making it costs milliseconds and hundreds of KiB, sharing it nothing.

use std::{
    env, fs,
    sync::{Arc, OnceLock},
};

use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer, pki_types::pem::PemObject as _};

use super::error::Error;

/// The shared configuration: HTTP/2 preferred, HTTP/1.1 accepted.
///
/// # Errors
/// [`Error::Setup`] when the crypto provider knows no protocol version.
pub fn config() -> Result<Arc<ClientConfig>, Error> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    CONFIG.get_or_init(|| build(roots())).clone().map_err(Error::Setup)
}

/// A configuration that trusts nobody, for servers that are reached without TLS.
///
/// # Errors
/// As [`config`].
pub fn without_trust() -> Result<Arc<ClientConfig>, Error> {
    build(RootCertStore::empty()).map_err(Error::Setup)
}

fn build(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Who is trusted: what Node trusts (its bundled roots and `NODE_EXTRA_CA_CERTS`) and what the system trusts
/// (`SSL_CERT_FILE` and `SSL_CERT_DIR` included). A certificate that cannot be read is left out with a warning.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let native = rustls_native_certs::load_native_certs();
    for error in native.errors {
        tracing::debug!(%error, "part of the system's certificates cannot be read");
    }
    roots.add_parsable_certificates(native.certs);
    if let Some(file) = env::var_os("NODE_EXTRA_CA_CERTS").filter(|file| !file.is_empty()) {
        match fs::read(&file) {
            Ok(pem) => add_pem(&mut roots, &pem),
            Err(error) => tracing::warn!(?file, %error, "NODE_EXTRA_CA_CERTS cannot be read"),
        }
    }
    roots
}

fn add_pem(roots: &mut RootCertStore, pem: &[u8]) {
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    #[test]
    fn the_configuration_is_shared_and_offers_both_http_versions() {
        let (one, two) = (config().unwrap(), config().unwrap());
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(one.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
    }

    #[test]
    fn broken_pem_adds_no_root_and_does_no_harm() {
        let mut roots = RootCertStore::empty();
        add_pem(&mut roots, b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
        assert!(roots.is_empty());
    }
}
