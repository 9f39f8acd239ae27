//! The protobuf wire format, as far as SentencePiece models need it: a message is a list of fields,
//! each a number, a wire type and a value.
//!
//! Nothing is copied or allocated here: a length in the file is compared with the bytes that are
//! there before it is believed, and messages nest only as deep as the code that reads them.

use crate::error::SentencePieceProblem as Problem;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// Wire type 0: integers, enums, booleans.
    Varint(u64),
    /// Wire type 1: eight bytes, which no field that we read has.
    Fixed64,
    /// Wire type 2: strings, bytes and messages.
    Bytes(&'a [u8]),
    /// Wire type 5: `float`.
    Fixed32(u32),
}

impl<'a> Value<'a> {
    /// The bytes of a string, a byte field or a message.
    pub fn bytes(self, field: &'static str) -> Result<&'a [u8], Problem> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(Problem::WireType { field }),
        }
    }

    /// A string.
    pub fn text(self, field: &'static str) -> Result<&'a str, Problem> {
        std::str::from_utf8(self.bytes(field)?).map_err(|_| Problem::NotUtf8 { field })
    }

    /// A boolean or an enum, and the bits of an integer.
    pub fn varint(self, field: &'static str) -> Result<u64, Problem> {
        match self {
            Self::Varint(value) => Ok(value),
            _ => Err(Problem::WireType { field }),
        }
    }

    /// A boolean.
    pub fn flag(self, field: &'static str) -> Result<bool, Problem> {
        Ok(self.varint(field)? != 0)
    }

    /// A finite `float`.
    pub fn float(self, field: &'static str) -> Result<f32, Problem> {
        let Self::Fixed32(bits) = self else { return Err(Problem::WireType { field }) };
        let value = f32::from_bits(bits);
        if value.is_finite() { Ok(value) } else { Err(Problem::NotFinite { field }) }
    }
}

/// The fields of a message, in the order of the file; ends with the first error.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn varint(&mut self) -> Result<u64, Problem> {
        let mut value = 0;
        // Seven bits per byte, the lowest first: ten bytes hold 64 bits.
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Problem::Truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Problem::BadVarint)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Problem> {
        let length = usize::try_from(length).map_err(|_| Problem::Truncated)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Problem::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), Problem> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|n| (1..1 << 29).contains(n));
        let number = number.ok_or(Problem::BadField)?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Fixed64
            }
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                let bytes = self.take(4)?;
                Value::Fixed32(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
            }
            // Groups are older than SentencePiece; 6 and 7 are not wire types.
            _ => return Err(Problem::BadField),
        };
        Ok((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<(u32, Value<'_>)>, Problem> {
        Fields::new(bytes).collect()
    }

    #[test]
    fn the_examples_of_the_protobuf_documentation_are_read() {
        // "encoding", protobuf.dev: field 1 = 150, field 2 = "testing".
        assert_eq!(fields(&[0x08, 0x96, 0x01]), Ok(vec![(1, Value::Varint(150))]));
        let text = b"\x12\x07testing";
        assert_eq!(fields(text), Ok(vec![(2, Value::Bytes(b"testing"))]));
        // −2 as int32 has ten bytes: 2⁶⁴ − 2.
        let minus_two = [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(fields(&minus_two), Ok(vec![(1, Value::Varint(u64::MAX - 1))]));
        let one = [0x15, 0, 0, 0x80, 0x3f];
        assert_eq!(fields(&one).unwrap()[0].1.float("x"), Ok(1.0));
    }

    #[test]
    fn lengths_beyond_the_end_endless_numbers_and_groups_are_refused() {
        assert_eq!(fields(b"\x12\x08testing"), Err(Problem::Truncated));
        assert_eq!(fields(b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), Err(Problem::Truncated));
        assert_eq!(fields(&[0xff; 11]), Err(Problem::BadVarint));
        assert_eq!(fields(&[0x08]), Err(Problem::Truncated));
        for key in [0x0b, 0x0c, 0x0e, 0x0f, 0x00] {
            assert_eq!(fields(&[key, 0, 0, 0]), Err(Problem::BadField), "{key}");
        }
        let infinite = Value::Fixed32(f32::INFINITY.to_bits());
        assert_eq!(infinite.float("score"), Err(Problem::NotFinite { field: "score" }));
        assert_eq!(Value::Bytes(b"\xff").text("piece"), Err(Problem::NotUtf8 { field: "piece" }));
    }
}
