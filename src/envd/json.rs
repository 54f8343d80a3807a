//! The JSON codec: for servers that answer 415 to binary messages.

use std::{io::Read as _, marker::PhantomData};

use bytes::{Buf as _, BufMut as _};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tonic::{
    Code, Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use super::error::Cause;

/// Writes messages of type `T`, reads those of type `U`, by the protobuf JSON mapping.
pub(crate) struct JsonCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for JsonCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Serialize + Send + 'static, U: DeserializeOwned + Send + 'static> Codec for JsonCodec<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = Json<T>;
    type Decoder = Json<U>;

    fn encoder(&mut self) -> Json<T> {
        Json(PhantomData)
    }

    fn decoder(&mut self) -> Json<U> {
        Json(PhantomData)
    }
}

/// One direction of the codec.
pub(crate) struct Json<M>(PhantomData<M>);

impl<M: Serialize> Encoder for Json<M> {
    type Item = M;
    type Error = Status;

    fn encode(&mut self, message: M, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        serde_json::to_writer(buffer.writer(), &message).map_err(|error| bad(&error))
    }
}

impl<M: DeserializeOwned> Decoder for Json<M> {
    type Item = M;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<M>, Status> {
        let mut text = Vec::with_capacity(buffer.remaining());
        buffer.reader().read_to_end(&mut text).map_err(|error| bad(&error))?;
        read(&text).map(Some)
    }
}

/// A message as JSON.
pub(super) fn write<M: Serialize>(message: &M) -> Result<Vec<u8>, Status> {
    serde_json::to_vec(message).map_err(|error| bad(&error))
}

/// A message of JSON. Some servers write `null` for what has no value where the mapping wants the key left out: those get a second reading.
pub(super) fn read<M: DeserializeOwned>(text: &[u8]) -> Result<M, Status> {
    serde_json::from_slice(text).or_else(|first| {
        let mut value: Value = serde_json::from_slice(text).map_err(|_| bad(&first))?;
        drop_nulls(&mut value);
        serde_json::from_value(value).map_err(|_| bad(&first))
    })
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn bad(error: &dyn std::fmt::Display) -> Status {
    Cause::Protocol.status(Code::Internal, format!("not the JSON of this message: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use envd_api::process::{StartResponse, process_event::Event};

    use super::read;

    fn end(json: &str) -> (i32, bool) {
        let message: StartResponse = read(json.as_bytes()).unwrap();
        match message.event.unwrap().event.unwrap() {
            Event::End(end) => (end.exit_code, end.exited),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_exit_code_of_zero_may_be_absent_null_a_number_or_a_text() {
        for code in
            ["", r#""exitCode":null,"#, r#""exitCode":0,"#, r#""exitCode":"0","#, r#""exit_code":0,"error":null,"#]
        {
            assert_eq!(
                end(&format!(r#"{{"event":{{"end":{{{code}"exited":true,"status":"exit status 0"}}}}}}"#)),
                (0, true),
                "{code}"
            );
        }
        assert_eq!(end(r#"{"event":{"end":{"exitCode":-1,"status":"signal: killed","future":[1]}}}"#), (-1, false));
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(read::<StartResponse>(b"{\"event\":7}").is_err());
        assert!(read::<StartResponse>(b"").is_err());
    }
}
