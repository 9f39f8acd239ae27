//! Writes token caches ([`super::tokens`] has the format) atomically, with content hashes.

use super::tokens::TokenFile;
use crate::error::{Error, Result};
use crate::files::temporary_path;
use crate::hash::{Xxh64, hash_bytes, hash_file};
use crate::text::Tokenizer;
use limpid_tensor::mapped::IntWidth;
use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"LIMPIDTK";
const VERSION: u32 = 1;
pub(super) const HEADER: usize = 64;

/// Hashes of what the ids of a file depend on: equal keys mean equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub width: IntWidth,
    tokenizer: u64,
    sources: u64,
}

impl Key {
    /// The key of files that are processed as described and tokenized; ids are below `id_limit`.
    pub(super) fn new(
        tokenizer: &Tokenizer,
        sources: &[PathBuf],
        processing: &str,
        id_limit: usize,
    ) -> Result<Self> {
        Ok(Self {
            width: if id_limit <= 1 << 16 { IntWidth::U16 } else { IntWidth::U32 },
            tokenizer: hash_bytes(tokenizer.fingerprint()?.as_bytes()),
            sources: hash_sources(sources, processing)?,
        })
    }

    /// The same key with 32-bit numbers.
    pub(super) fn wide(self) -> Self {
        Self { width: IntWidth::U32, ..self }
    }
}

/// The header of a cache file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub key: Key,
    /// The number of ids.
    pub count: u64,
    /// Their hash.
    pub ids: u64,
}

impl Header {
    fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.key.width.bytes() as u32).to_le_bytes());
        for (at, number) in
            [(16, self.key.tokenizer), (24, self.key.sources), (32, self.count), (40, self.ids)]
        {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        let hash = hash_bytes(&bytes[..48]);
        bytes[48..56].copy_from_slice(&hash.to_le_bytes());
        bytes
    }

    pub fn read(bytes: &[u8]) -> std::result::Result<Self, &'static str> {
        let long =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short =
            |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if &bytes[..8] != MAGIC {
            return Err("the magic bytes are wrong");
        }
        if hash_bytes(&bytes[..48]) != long(48) {
            return Err("the header hash does not match");
        }
        if short(8) != VERSION {
            return Err("it was written by another version of Limpid");
        }
        let width = match short(12) {
            2 => IntWidth::U16,
            4 => IntWidth::U32,
            _ => return Err("ids are neither 2 nor 4 bytes wide"),
        };
        let key = Key { width, tokenizer: long(16), sources: long(24) };
        Ok(Self { key, count: long(32), ids: long(40) })
    }
}

/// File names without their folders: a corpus that was moved is the same.
fn hash_sources(sources: &[PathBuf], processing: &str) -> Result<u64> {
    let mut hash = Xxh64::default();
    hash.update(&(processing.len() as u64).to_le_bytes());
    hash.update(processing.as_bytes());
    for path in sources {
        let (size, content) = hash_file(path, 0)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        hash.update(&(name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        hash.update(&size.to_le_bytes());
        hash.update(&content.to_le_bytes());
    }
    Ok(hash.finish())
}

/// Writes ids to a temporary file that is renamed when it is complete, and removed otherwise.
pub(super) struct TokenWriter {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
    header: Header,
    hash: Xxh64,
}

impl TokenWriter {
    pub(super) fn create(path: &Path, key: Key) -> Result<Self> {
        let temporary = temporary_path(path);
        let file = File::create(&temporary).map_err(|e| Error::io("write", &temporary, e))?;
        let header = Header { key, count: 0, ids: 0 };
        let (path, file, hash) = (path.to_path_buf(), BufWriter::new(file), Xxh64::default());
        let mut writer = Self { path, temporary, file, header, hash };
        // Zeros for now: a file without its header is not mistaken for a complete one.
        writer.write(&[0; HEADER])?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| Error::io("write", &self.temporary, e))
    }

    pub(super) fn put(&mut self, ids: &[u32]) -> Result<()> {
        let bytes: Vec<u8> = match self.header.key.width {
            IntWidth::U16 => ids.iter().flat_map(|id| (*id as u16).to_le_bytes()).collect(),
            IntWidth::U32 => ids.iter().flat_map(|id| id.to_le_bytes()).collect(),
        };
        self.header.count += ids.len() as u64;
        self.hash.update(&bytes);
        self.write(&bytes)
    }

    pub(super) fn finish(mut self) -> Result<TokenFile> {
        self.header.ids = self.hash.finish();
        let header = self.header.bytes();
        let failed = |e: std::io::Error| Error::io("write", &self.temporary, e);
        self.file.flush().map_err(failed)?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        file.write_all(&header).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&self.temporary, &self.path).map_err(|e| Error::io("write", &self.path, e))?;
        TokenFile::open(&self.path)
    }
}

impl Drop for TokenWriter {
    fn drop(&mut self) {
        // After `finish` it has been renamed; a failure to remove it would hide the real error.
        drop(fs::remove_file(&self.temporary));
    }
}
