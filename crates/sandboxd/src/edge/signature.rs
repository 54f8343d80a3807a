//! Finding the sandbox of a signed file URL that names none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http::{Method, Uri};
use sha2::{Digest, Sha256};

use crate::sandboxes::Sandboxes;

/// The id of the sandbox whose token made the signature of a `/files` request, expired or not: the daemon judges that.
pub fn owner(sandboxes: &Sandboxes, method: &Method, uri: &Uri) -> Option<String> {
    if uri.path() != "/files" {
        return None;
    }
    let [mut path, mut user, mut signature, mut expiration] = [const { String::new() }; 4];
    for (name, value) in form_urlencoded::parse(uri.query()?.as_bytes()) {
        match &*name {
            "path" => path = value.into_owned(),
            "username" => user = value.into_owned(),
            "signature" => signature = value.into_owned(),
            "signature_expiration" => expiration = value.into_owned(),
            _ => {}
        }
    }
    if signature.is_empty() {
        return None;
    }
    let operation = if method == Method::GET || method == Method::HEAD { "read" } else { "write" };
    let found = sandboxes.all().into_iter().find(|sandbox| {
        sandbox.token.as_ref().is_some_and(|token| signature == sign(&path, operation, &user, token, &expiration))
    });
    found.map(|sandbox| sandbox.id.to_string())
}

/// The signature that the SDKs make.
fn sign(path: &str, operation: &str, user: &str, token: &str, expiration: &str) -> String {
    let mut text = format!("{path}:{operation}:{user}:{token}");
    if !expiration.is_empty() {
        text.push(':');
        text.push_str(expiration);
    }
    format!("v1_{}", STANDARD_NO_PAD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::sign;

    #[test]
    fn signatures_are_those_of_the_sdk() {
        // Made by the JS SDK's own formula over the same text.
        assert_eq!(
            sign("/a b", "read", "user", "secret", "1700000000"),
            "v1_yyt/btPnjNeYvsGotvgpiieOmJz+H+BhV/1dCBkjMPI"
        );
    }
}
