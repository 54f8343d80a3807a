//! The two encodings of a message and the content types that choose between them.

use axum::http::{HeaderMap, header::CONTENT_TYPE};
use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};

use super::Error;

/// How messages of one call are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// The JSON mapping of protobuf: lower camel case, defaults omitted.
    Json,
    /// Binary protobuf.
    Proto,
}

impl Codec {
    /// The codec of a unary request, or `None` when its content type isn't served.
    pub fn of_unary(headers: &HeaderMap) -> Option<Self> {
        match media_type(headers)?.as_str() {
            "application/json" => Some(Self::Json),
            "application/proto" => Some(Self::Proto),
            _ => None,
        }
    }

    /// The codec of a streaming request, or `None` when its content type isn't served.
    pub fn of_stream(headers: &HeaderMap) -> Option<Self> {
        match media_type(headers)?.as_str() {
            "application/connect+json" => Some(Self::Json),
            "application/connect+proto" => Some(Self::Proto),
            _ => None,
        }
    }

    /// The content type of a unary response.
    pub fn unary_content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Proto => "application/proto",
        }
    }

    /// The content type of a streaming response.
    pub fn stream_content_type(self) -> &'static str {
        match self {
            Self::Json => "application/connect+json",
            Self::Proto => "application/connect+proto",
        }
    }

    /// Decodes one message.
    ///
    /// # Errors
    /// `invalid_argument` when the bytes are not a message of this type. The text of the decoder
    /// is passed on, the bytes are not: they may hold a process's input.
    pub fn decode<M: Message + Default + DeserializeOwned>(self, bytes: Bytes) -> Result<M, Error> {
        match self {
            Self::Proto => {
                M::decode(bytes).map_err(|error| Error::invalid_argument(format!("unmarshal message: {error}")))
            }
            Self::Json if bytes.is_empty() => {
                Err(Error::invalid_argument("unmarshal message: zero-length payload is not a valid JSON object"))
            }
            Self::Json => serde_json::from_slice(&bytes).map_err(|error| {
                // serde_json quotes the offending value; only the position is safe to repeat.
                Error::invalid_argument(format!("unmarshal message: line {} column {}", error.line(), error.column()))
            }),
        }
    }

    /// Appends one encoded message to `out`.
    ///
    /// # Errors
    /// `internal` when the message can't be represented, e.g. a timestamp out of range.
    pub fn encode_into<M: Message + Serialize>(self, message: &M, out: &mut BytesMut) -> Result<(), Error> {
        let failed = |error: String| Error::internal(format!("marshal message: {error}"));
        match self {
            Self::Proto => message.encode(out).map_err(|error| failed(error.to_string())),
            Self::Json => serde_json::to_writer(out.writer(), message).map_err(|error| failed(error.to_string())),
        }
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let essence = value.split(';').next().unwrap_or_default();
    Some(essence.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use envd_api::process::{ListRequest, SendSignalRequest, Signal};

    use super::*;

    fn headers(content_type: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers
    }

    #[test]
    fn content_types_choose_the_codec_and_parameters_are_ignored() {
        assert_eq!(Codec::of_unary(&headers("application/json; charset=utf-8")), Some(Codec::Json));
        assert_eq!(Codec::of_unary(&headers("application/proto")), Some(Codec::Proto));
        assert_eq!(Codec::of_unary(&headers("application/connect+json")), None);
        assert_eq!(Codec::of_stream(&headers("application/connect+proto")), Some(Codec::Proto));
        assert_eq!(Codec::of_stream(&headers("application/grpc")), None);
        assert_eq!(Codec::of_stream(&HeaderMap::new()), None);
    }

    #[test]
    fn an_empty_body_is_a_message_in_protobuf_and_an_error_in_json() {
        assert!(Codec::Proto.decode::<ListRequest>(Bytes::new()).is_ok());
        assert!(Codec::Json.decode::<ListRequest>(Bytes::new()).is_err());
    }

    #[test]
    fn json_takes_enum_numbers_names_and_unknown_fields() {
        for signal in ["15", "\"SIGNAL_SIGTERM\""] {
            let text = format!(r#"{{"process":{{"pid":7}},"signal":{signal},"later":[1]}}"#);
            let request: SendSignalRequest = Codec::Json.decode(Bytes::from(text)).expect(signal);
            assert_eq!(request.signal(), Signal::Sigterm, "{signal}");
        }
    }

    #[test]
    fn a_decoding_error_does_not_repeat_the_input() {
        let error = Codec::Json.decode::<SendSignalRequest>(Bytes::from_static(br#"{"signal":"s3cret"}"#)).unwrap_err();
        assert!(!error.message.contains("s3cret"), "{}", error.message);
    }
}
