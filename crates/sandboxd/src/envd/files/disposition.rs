//! `Content-Disposition`: reading that of a form's part, writing that of a download.

use std::collections::HashMap;

/// The parameters of the header, names in lower case. Values are kept whole: directories in a
/// filename are part of it, and a backslash only escapes quotes and itself, as old browsers send
/// Windows paths bare.
pub fn parameters(header: &str) -> HashMap<String, String> {
    let mut parameters = HashMap::new();
    let mut rest = header.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim().trim_start_matches(';').trim().to_ascii_lowercase();
        let (value, after) = value(after.trim_start());
        match name.strip_suffix('*') {
            Some(plain) => {
                if let Some(decoded) = extended(&value) {
                    parameters.insert(plain.to_owned(), decoded);
                }
            }
            None => {
                parameters.entry(name).or_insert(value);
            }
        }
        rest = after.trim_start().strip_prefix(';').unwrap_or_default();
    }
    parameters
}

/// A quoted or bare value, and what follows it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (text[..end].trim_end().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[index + 1..]),
            '\\' if characters.peek().is_some_and(|(_, next)| matches!(next, '"' | '\\')) => {
                value.extend(characters.next().map(|(_, escaped)| escaped));
            }
            other => value.push(other),
        }
    }
    (value, "")
}

/// `utf-8'language'percent-encoded`.
fn extended(value: &str) -> Option<String> {
    let mut parts = value.splitn(3, '\'');
    if !parts.next()?.eq_ignore_ascii_case("utf-8") {
        return None;
    }
    let encoded = parts.nth(1)?.as_bytes();
    let mut decoded = Vec::new();
    let mut index = 0;
    while let Some(byte) = encoded.get(index) {
        if *byte == b'%' {
            let digits = str::from_utf8(encoded.get(index + 1..index + 3)?).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            index += 3;
        } else {
            decoded.push(*byte);
            index += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

/// The header of a download that a browser should show, with the file's name.
pub fn inline(name: &str) -> String {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`{|}~".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_token) {
        return format!("inline; filename={name}");
    }
    if name.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t') {
        return format!("inline; filename=\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    }
    let encoded: String = name
        .bytes()
        .map(|byte| match byte {
            byte if is_token(byte) && !b"*'%".contains(&byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    format!("inline; filename*=utf-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filename_keeps_its_directories_and_leading_slash() {
        let table = [
            (r#"form-data; name="file"; filename="/0/multi/a.txt""#, Some("/0/multi/a.txt")),
            (r#"form-data; name="file"; filename="../up/b""#, Some("../up/b")),
            (r#"form-data; name="file"; filename="a;b=c.txt""#, Some("a;b=c.txt")),
            (r#"form-data; name="file"; filename="a\"b\\c.txt""#, Some(r#"a"b\c.txt"#)),
            (r#"form-data; name="file"; filename="C:\dir\f.txt""#, Some(r"C:\dir\f.txt")),
            ("form-data; name=file; filename=bare.txt", Some("bare.txt")),
            (r#"form-data; name="file"; filename="ünï.txt""#, Some("ünï.txt")),
            ("form-data; name=\"file\"; filename*=UTF-8''%C3%A4%20b.txt", Some("ä b.txt")),
            (r#"form-data; name="file"; filename="%22.txt""#, Some("%22.txt")),
            (r#"form-data; name="file""#, None),
        ];
        for (header, filename) in table {
            let parameters = parameters(header);
            assert_eq!(parameters.get("filename").map(String::as_str), filename, "{header}");
            assert_eq!(parameters.get("name").map(String::as_str), Some("file"), "{header}");
        }
    }

    #[test]
    fn a_downloads_name_is_quoted_or_encoded_when_needed() {
        assert_eq!(inline("a.txt"), "inline; filename=a.txt");
        assert_eq!(inline("a \"b\".txt"), r#"inline; filename="a \"b\".txt""#);
        assert_eq!(inline("ä.txt"), "inline; filename*=utf-8''%C3%A4.txt");
    }
}
