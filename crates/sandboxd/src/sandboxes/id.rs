//! Random names: ids of sandboxes, tokens.

/// A new sandbox id: `i` and 20 of `[a-z0-9]`, as the original service gives them.
///
/// # Errors
/// When the system has no random numbers.
pub fn sandbox() -> Result<String, getrandom::Error> {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
    let mut bytes = [0_u8; 20];
    getrandom::fill(&mut bytes)?;
    Ok(std::iter::once('i').chain(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)]))).collect())
}

/// A new access token: 64 hexadecimal digits.
///
/// # Errors
/// When the system has no random numbers.
pub fn token() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The sandbox id in what a client gave: the id itself, or the old form `ID-CLIENT`. `None` when it is neither.
pub fn parse(given: &str) -> Option<&str> {
    let (id, client) = given.split_once('-').unwrap_or((given, "0"));
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (plain(id) && plain(client)).then_some(id)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "without random numbers there is no test")]

    use super::*;

    #[test]
    fn ids_are_well_formed_and_differ() {
        let (one, two) = (sandbox().unwrap(), sandbox().unwrap());
        assert_eq!(one.len(), 21);
        assert_eq!(parse(&one), Some(one.as_str()));
        assert_ne!(one, two);
    }

    #[test]
    fn an_old_composite_id_names_its_sandbox_and_other_shapes_name_none() {
        assert_eq!(parse("iabc-6532622b"), Some("iabc"));
        for bad in ["", "-", "iABC", "i_a", "a-b-c", "a-"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
