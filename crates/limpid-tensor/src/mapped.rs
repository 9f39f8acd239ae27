//! Memory-mapped files of integers: the system reads the pages that are touched, and drops them
//! when memory is short.
//!
//! Built on the crate `memmap2`, which covers every operating system, instead of `libc` calls.

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// The width of an integer in the file; little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntWidth {
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
}

impl IntWidth {
    /// Bytes of an integer.
    pub fn bytes(self) -> usize {
        match self {
            Self::U16 => 2,
            Self::U32 => 4,
        }
    }
}

/// A file, mapped for reading.
///
/// Reads copy, and no reference to the map is handed out, so a concurrent writer can change the
/// values that are read but causes no undefined behaviour. If another program truncates the file,
/// touching the missing part ends this process (SIGBUS): replace mapped files by renaming, never
/// write them in place.
#[derive(Debug)]
pub struct MappedFile {
    map: Mmap,
}

impl MappedFile {
    /// Maps a whole file.
    ///
    /// # Errors
    /// If the file cannot be opened or mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: the map is read-only and private to this value, and lives as long as it. Memory
        // that changes under a reference would be undefined, so no reference leaves this module:
        // `bytes` and `numbers` read through the pointer, byte by byte, and copy.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self { map })
    }

    /// Bytes of the file when it was mapped.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Byte i.
    fn byte(&self, i: usize) -> u8 {
        assert!(i < self.map.len());
        // SAFETY: i is within the map. Volatile: another program may change the byte.
        unsafe { self.map.as_ptr().add(i).read_volatile() }
    }

    /// A copy of some bytes.
    ///
    /// # Panics
    /// If the range reaches beyond the file.
    #[track_caller]
    pub fn bytes(&self, range: Range<usize>) -> Vec<u8> {
        assert!(range.end <= self.len(), "bytes {range:?} of a file of {}", self.len());
        range.map(|i| self.byte(i)).collect()
    }

    /// A copy of integers `range` of the array that starts at byte `first`.
    ///
    /// # Panics
    /// If the range reaches beyond the file.
    #[track_caller]
    pub fn numbers(&self, first: usize, width: IntWidth, range: Range<usize>) -> Vec<u32> {
        let end = range.end.checked_mul(width.bytes()).and_then(|bytes| bytes.checked_add(first));
        assert!(
            end.is_some_and(|end| end <= self.len()),
            "integers {range:?} of a file of {} bytes",
            self.len()
        );
        let at = |i: usize| first + i * width.bytes();
        let number = |i: usize| match width {
            IntWidth::U16 => u32::from(u16::from_le_bytes([self.byte(i), self.byte(i + 1)])),
            IntWidth::U32 => u32::from_le_bytes([
                self.byte(i),
                self.byte(i + 1),
                self.byte(i + 2),
                self.byte(i + 3),
            ]),
        };
        range.map(|i| number(at(i))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("limpid-mapped-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn integers_of_both_widths_are_read_at_any_alignment() {
        let numbers: Vec<u32> = (0..1000).map(|i| i * 65).collect();
        let narrow: Vec<u8> = numbers.iter().flat_map(|n| (*n as u16).to_le_bytes()).collect();
        let wide: Vec<u8> =
            numbers.iter().flat_map(|n| n.wrapping_mul(1_000_003).to_le_bytes()).collect();
        // Three bytes before them: integers need not be aligned.
        let path = file("numbers", &[&[1, 2, 3][..], &narrow, &wide].concat());
        let mapped = MappedFile::open(&path).unwrap();
        assert_eq!(mapped.bytes(0..3), [1, 2, 3]);
        assert_eq!(mapped.numbers(3, IntWidth::U16, 0..1000), numbers);
        assert_eq!(mapped.numbers(3, IntWidth::U16, 17..19), numbers[17..19]);
        let expected: Vec<u32> = numbers.iter().map(|n| n.wrapping_mul(1_000_003)).collect();
        assert_eq!(mapped.numbers(2003, IntWidth::U32, 0..1000), expected);
        assert!(mapped.numbers(2003, IntWidth::U32, 1000..1000).is_empty());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_map_keeps_the_old_content_when_the_file_is_replaced_by_renaming() {
        let path = file("replaced", &[7, 0, 8, 0]);
        let mapped = MappedFile::open(&path).unwrap();
        let aside = file("aside", &[9, 0]);
        std::fs::rename(aside, &path).unwrap();
        assert_eq!(mapped.numbers(0, IntWidth::U16, 0..2), [7, 8]);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    #[should_panic(expected = "integers 1..3 of a file of 4 bytes")]
    fn a_range_beyond_the_file_panics() {
        let path = file("beyond", &[0; 4]);
        let mapped = MappedFile::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        mapped.numbers(0, IntWidth::U16, 1..3);
    }
}
