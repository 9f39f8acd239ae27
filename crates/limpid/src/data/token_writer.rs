//! Writes files of token ids ([`super::tokens`] has the format): aside, hashed, flushed, renamed.

use super::tokens::TokenFile;
use crate::error::{Error, Result};
use crate::files::aside_of;
use crate::hash::{Xxh64, hash_bytes, hash_file};
use crate::text::Tokenizer;
use limpid_tensor::mapped::Width;
use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"LIMPIDTK";
const VERSION: u32 = 1;
pub(super) const HEADER: usize = 64;

/// What the ids of a file follow from: while it is the same, so are they.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub width: Width,
    tokenizer: u64,
    sources: u64,
}

impl Key {
    /// Files that are read in a certain way (`how`, in words) and cut by a tokenizer; ids are below `ids`.
    pub(super) fn new(tokenizer: &Tokenizer, sources: &[PathBuf], how: &str, ids: usize) -> Result<Self> {
        Ok(Self {
            width: if ids <= 1 << 16 { Width::U16 } else { Width::U32 },
            tokenizer: hash_bytes(tokenizer.to_json()?.as_bytes()),
            sources: hash_sources(sources, how)?,
        })
    }

    /// The same, for numbers of any size.
    pub(super) fn wide(self) -> Self {
        Self { width: Width::U32, ..self }
    }
}

/// The beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub key: Key,
    /// How many ids there are.
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
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if &bytes[..8] != MAGIC {
            return Err("it does not begin as one");
        }
        if hash_bytes(&bytes[..48]) != long(48) {
            return Err("its beginning is not what was written");
        }
        if short(8) != VERSION {
            return Err("it is of another version of Limpid");
        }
        let width = match short(12) {
            2 => Width::U16,
            4 => Width::U32,
            _ => return Err("its ids are neither of 2 nor of 4 bytes"),
        };
        let key = Key { width, tokenizer: long(16), sources: long(24) };
        Ok(Self { key, count: long(32), ids: long(40) })
    }
}

/// Names without their folders: a corpus that has moved as a whole is the same.
fn hash_sources(sources: &[PathBuf], how: &str) -> Result<u64> {
    let mut hash = Xxh64::default();
    hash.update(&(how.len() as u64).to_le_bytes());
    hash.update(how.as_bytes());
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

/// Writes a file of ids aside; it gets its name when all of it is there, and leaves nothing behind when that does not come to pass.
pub(super) struct TokenWriter {
    path: PathBuf,
    aside: PathBuf,
    file: BufWriter<File>,
    header: Header,
    hash: Xxh64,
}

impl TokenWriter {
    pub(super) fn create(path: &Path, key: Key) -> Result<Self> {
        let aside = aside_of(path);
        let file = File::create(&aside).map_err(|e| Error::io("write", &aside, &e))?;
        let header = Header { key, count: 0, ids: 0 };
        let (path, file, hash) = (path.to_path_buf(), BufWriter::new(file), Xxh64::default());
        let mut writer = Self { path, aside, file, header, hash };
        // Zeros for now: a file without its beginning is not taken for a whole one.
        writer.write(&[0; HEADER])?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| Error::io("write", &self.aside, &e))
    }

    pub(super) fn put(&mut self, ids: &[u32]) -> Result<()> {
        let bytes: Vec<u8> = match self.header.key.width {
            Width::U16 => ids.iter().flat_map(|id| (*id as u16).to_le_bytes()).collect(),
            Width::U32 => ids.iter().flat_map(|id| id.to_le_bytes()).collect(),
        };
        self.header.count += ids.len() as u64;
        self.hash.update(&bytes);
        self.write(&bytes)
    }

    pub(super) fn finish(mut self) -> Result<TokenFile> {
        self.header.ids = self.hash.finish();
        let header = self.header.bytes();
        let failed = |e: std::io::Error| Error::io("write", &self.aside, &e);
        self.file.flush().map_err(failed)?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        file.write_all(&header).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&self.aside, &self.path).map_err(|e| Error::io("write", &self.path, &e))?;
        TokenFile::open(&self.path)
    }
}

impl Drop for TokenWriter {
    fn drop(&mut self) {
        // After `finish` it is gone already; that it cannot be removed changes nothing about the error.
        drop(fs::remove_file(&self.aside));
    }
}
