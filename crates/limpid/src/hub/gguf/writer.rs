//! The file format, version 3: a header, metadata, the descriptions of tensors, their numbers.
//!
//! ```text
//! "GGUF" · version u32 · tensors u64 · pairs u64
//! per pair:    key · type u32 · value
//! per tensor:  name · dimensions u32 · sizes u64, the fastest first · type u32 · offset u64
//! numbers, each tensor at a multiple of 32 bytes
//! ```
//!
//! All integers are little-endian; a text is its length (u64) and its bytes.

use super::super::precision::Precision;
use crate::error::{Error, Result};
use crate::files::temporary_path;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

const VERSION: u32 = 3;

/// Tensors begin at multiples of this.
const ALIGNMENT: usize = 32;

/// Numbers of a block of [`GgufType::Q8_0`], which share a scale.
pub(super) const BLOCK: usize = 32;

/// The type of the matrices in a GGUF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GgufType {
    /// Plain numbers.
    Plain(Precision),
    /// Blocks of 32 bytes with an f16 scale: 8.5 bits per weight. Rows that are no multiple of 32
    /// are stored as f16.
    Q8_0,
}

impl GgufType {
    /// The number by which a file names it.
    fn code(self) -> u32 {
        match self {
            Self::Plain(Precision::F32) => 0,
            Self::Plain(Precision::F16) => 1,
            Self::Q8_0 => 8,
            Self::Plain(Precision::Bf16) => 30,
        }
    }

    /// `general.file_type` of a file with matrices of it.
    pub(super) fn file_type(self) -> u32 {
        match self {
            Self::Plain(Precision::F32) => 0,
            Self::Plain(Precision::F16) => 1,
            Self::Q8_0 => 7,
            Self::Plain(Precision::Bf16) => 32,
        }
    }

    fn bytes(self, numbers: usize) -> usize {
        match self {
            Self::Plain(precision) => numbers * precision.bytes(),
            Self::Q8_0 => numbers / BLOCK * (BLOCK + 2),
        }
    }

    /// Appends numbers in this type.
    fn append(self, to: &mut Vec<u8>, values: &[f32], tensor: &str) -> Result<()> {
        match self {
            Self::Plain(precision) => precision.append(to, values, tensor, 0),
            Self::Q8_0 => {
                for block in values.chunks_exact(BLOCK) {
                    let largest = block.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
                    let scale = largest / 127.0;
                    Precision::F16.append(to, &[scale], tensor, 0)?;
                    let inverse = if scale == 0.0 { 0.0 } else { 1.0 / scale };
                    to.extend(block.iter().map(|x| (x * inverse).round() as i8 as u8));
                }
                Ok(())
            }
        }
    }
}

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Ints(Vec<i32>),
    Floats(Vec<f32>),
    Texts(Vec<String>),
}

/// A tensor: its name, its sizes (rows first), its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Described {
    pub name: String,
    pub shape: Vec<usize>,
    pub kind: GgufType,
}

impl Described {
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn bytes(&self) -> usize {
        self.kind.bytes(self.len())
    }
}

/// Writes a file atomically: `values` gives the numbers of each tensor, in order. Returns its size.
pub(super) fn write(
    path: &Path,
    metadata: &[(String, Value)],
    tensors: &[Described],
    values: impl FnMut(usize, &Described) -> Result<Vec<f32>>,
) -> Result<u64> {
    let unfinished = temporary_path(path);
    let written = write_to(&unfinished, metadata, tensors, values).and_then(|bytes| {
        fs::rename(&unfinished, path).map_err(|e| Error::io("write", path, e))?;
        Ok(bytes)
    });
    if written.is_err() {
        // If it cannot be removed either, the first error is the one to report.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn write_to(
    path: &Path,
    metadata: &[(String, Value)],
    tensors: &[Described],
    mut values: impl FnMut(usize, &Described) -> Result<Vec<f32>>,
) -> Result<u64> {
    let failed = |e| Error::io("write", path, e);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    let header = header(metadata, tensors);
    out.write_all(&header).map_err(failed)?;
    let mut total = header.len() as u64;
    let mut bytes = Vec::new();
    for (i, tensor) in tensors.iter().enumerate() {
        let values = values(i, tensor)?;
        assert_eq!(values.len(), tensor.len(), "numbers of {}", tensor.name);
        bytes.clear();
        tensor.kind.append(&mut bytes, &values, &tensor.name)?;
        assert_eq!(bytes.len(), tensor.bytes(), "bytes of {}", tensor.name);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        out.write_all(&bytes).map_err(failed)?;
        total += bytes.len() as u64;
    }
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(total)
}

/// Everything before the numbers, padded.
fn header(metadata: &[(String, Value)], tensors: &[Described]) -> Vec<u8> {
    let mut out = b"GGUF".to_vec();
    out.extend(VERSION.to_le_bytes());
    length(&mut out, tensors.len());
    length(&mut out, metadata.len());
    for (key, value) in metadata {
        text(&mut out, key);
        pair(&mut out, value);
    }
    let mut offset = 0;
    for tensor in tensors {
        text(&mut out, &tensor.name);
        out.extend((tensor.shape.len() as u32).to_le_bytes());
        tensor.shape.iter().rev().for_each(|size| length(&mut out, *size));
        out.extend(tensor.kind.code().to_le_bytes());
        length(&mut out, offset);
        offset += tensor.bytes().next_multiple_of(ALIGNMENT);
    }
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    out
}

fn length(out: &mut Vec<u8>, length: usize) {
    out.extend((length as u64).to_le_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    length(out, text.len());
    out.extend(text.as_bytes());
}

/// A value behind the code of its type.
fn pair(out: &mut Vec<u8>, value: &Value) {
    const U32: u32 = 4;
    const I32: u32 = 5;
    const F32: u32 = 6;
    const BOOL: u32 = 7;
    const TEXT: u32 = 8;
    const ARRAY: u32 = 9;
    let mut code = |codes: &[u32]| codes.iter().for_each(|code| out.extend(code.to_le_bytes()));
    match value {
        Value::U32(x) => {
            code(&[U32]);
            out.extend(x.to_le_bytes());
        }
        Value::F32(x) => {
            code(&[F32]);
            out.extend(x.to_le_bytes());
        }
        Value::Bool(x) => {
            code(&[BOOL]);
            out.push(u8::from(*x));
        }
        Value::Text(x) => {
            code(&[TEXT]);
            text(out, x);
        }
        Value::Ints(list) => {
            code(&[ARRAY, I32]);
            length(out, list.len());
            list.iter().for_each(|x| out.extend(x.to_le_bytes()));
        }
        Value::Floats(list) => {
            code(&[ARRAY, F32]);
            length(out, list.len());
            list.iter().for_each(|x| out.extend(x.to_le_bytes()));
        }
        Value::Texts(list) => {
            code(&[ARRAY, TEXT]);
            length(out, list.len());
            list.iter().for_each(|x| text(out, x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_bytes_of_the_format() {
        let metadata = [("a".to_string(), Value::U32(7))];
        let tensor = Described {
            name: "t".into(),
            shape: vec![2, 3],
            kind: GgufType::Plain(Precision::F16),
        };
        let bytes = header(&metadata, &[tensor]);
        let expected = [
            &b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0"[..],
            b"\x01\0\0\0\0\0\0\0a\x04\0\0\0\x07\0\0\0",
            // Two dimensions, the columns first, of type 1, at offset 0.
            b"\x01\0\0\0\0\0\0\0t\x02\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0",
            b"\x01\0\0\0\0\0\0\0\0\0\0\0",
        ]
        .concat();
        assert_eq!(bytes[..expected.len()], expected);
        assert_eq!(bytes.len(), expected.len().next_multiple_of(32));
    }

    #[test]
    fn a_file_has_the_bytes_that_the_gguf_package_writes() {
        let text = |text: &str| Value::Text(text.into());
        let metadata = [
            ("general.architecture", text("test")),
            ("test.block_count", Value::U32(3)),
            ("test.eps", Value::F32(0.5)),
            ("test.causal", Value::Bool(false)),
            ("test.name", text("größe")),
            ("test.types", Value::Ints(vec![1, -3])),
            ("test.scores", Value::Floats(vec![0.25, -2.0])),
            ("test.tokens", Value::Texts(["a", "▁b", ""].map(String::from).into())),
        ]
        .map(|(key, value)| (key.to_string(), value));
        let tensor = |name: &str, shape: &[usize], kind| Described {
            name: format!("{name}.weight"),
            shape: shape.to_vec(),
            kind,
        };
        let tensors = [
            tensor("plain", &[2, 3], GgufType::Plain(Precision::F32)),
            tensor("half", &[5], GgufType::Plain(Precision::F16)),
            tensor("brain", &[2, 64], GgufType::Plain(Precision::Bf16)),
            tensor("bytes", &[2, 64], GgufType::Q8_0),
        ];
        let path = std::env::temp_dir().join(format!("limpid-gguf-{}.gguf", std::process::id()));
        let numbers = |n: usize| (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 8.0).collect();
        let size =
            write(&path, &metadata, &tensors, |_, tensor| Ok(numbers(tensor.len()))).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let expected = fs::read(root.join("../../reference/fixtures/gguf/small.gguf")).unwrap();
        assert_eq!(size, bytes.len() as u64);
        assert!(bytes == expected, "{} bytes, {} expected", bytes.len(), expected.len());
    }

    #[test]
    fn a_block_of_bytes_is_within_half_a_step_of_its_numbers() {
        let values: Vec<f32> = (0..64).map(|i| (i as f32 * 0.7).sin() * 3.0).collect();
        let mut bytes = Vec::new();
        GgufType::Q8_0.append(&mut bytes, &values, "t").unwrap();
        assert_eq!(bytes.len(), 2 * 34);
        for (block, values) in bytes.chunks(34).zip(values.chunks(32)) {
            let scale = half::f16::from_le_bytes([block[0], block[1]]).to_f32();
            for (byte, x) in block[2..].iter().zip(values) {
                let read = f32::from(*byte as i8) * scale;
                // The scale itself is rounded to 11 bits.
                assert!((read - x).abs() <= 0.5 * scale + x.abs() * 5e-4, "{read} for {x}");
            }
        }
    }
}
