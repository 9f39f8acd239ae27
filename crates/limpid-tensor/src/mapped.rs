//! Memory-mapped files of bytes and integers: the system reads the pages that are touched, and
//! drops them when memory is short.
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
/// Reads copy, and no reference to the map is handed out but by `floats`, so a
/// concurrent writer can change the values that are read but causes no undefined behaviour. If
/// another program truncates the file, touching the missing part ends this process (SIGBUS):
/// replace mapped files by renaming, never write them in place.
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
        // that changes under a reference would be undefined: `copy_to` and `numbers` read through
        // the pointer, volatile, and copy; `floats` says why it may hand out a reference.
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
        let mut bytes = vec![0; range.len()];
        self.copy_to(range.start, &mut bytes);
        bytes
    }

    /// Copies the bytes that begin at `first`, as many as `to` holds.
    ///
    /// # Panics
    /// If they reach beyond the file.
    #[track_caller]
    pub fn copy_to(&self, first: usize, to: &mut [u8]) {
        const WORD: usize = size_of::<u64>();
        let end = first.checked_add(to.len());
        assert!(
            end.is_some_and(|end| end <= self.len()),
            "{} bytes at {first} of a file of {}",
            to.len(),
            self.len()
        );
        let start = self.map.as_ptr().wrapping_add(first);
        // A word at a time, which is as fast as memory; bytes before the first aligned word.
        let (head, rest) = to.split_at_mut(start.align_offset(WORD).min(to.len()));
        let (words, tail) = rest.as_chunks_mut::<WORD>();
        let (before, aligned) = (first, first + head.len());
        let after = aligned + words.len() * WORD;
        head.iter_mut().enumerate().for_each(|(i, byte)| *byte = self.byte(before + i));
        for (i, word) in words.iter_mut().enumerate() {
            let at = self.map.as_ptr().wrapping_add(aligned + i * WORD).cast::<u64>();
            // SAFETY: the word ends before `first + to.len()`, which is within the map, and
            // `aligned` is the address of an aligned word. Volatile: another program may change it.
            *word = unsafe { at.read_volatile() }.to_ne_bytes();
        }
        tail.iter_mut().enumerate().for_each(|(i, byte)| *byte = self.byte(after + i));
    }

    /// Tells the system that the file will be read from its beginning to its end, so that it reads
    /// ahead. Only a hint.
    pub fn expect_sequential_reads(&self) {
        #[cfg(unix)]
        let _ = self.map.advise(memmap2::Advice::Sequential);
    }

    /// Tells the system that these bytes have been copied: their pages no longer count as memory of
    /// this process. Reading them again gives what the file has.
    pub fn expect_no_reads(&self, range: Range<usize>) {
        #[cfg(unix)]
        // SAFETY: the map is of a file and read-only, so a page that is dropped is read again with
        // the same content.
        let _ = unsafe {
            self.map.unchecked_advise_range(
                memmap2::UncheckedAdvice::DontNeed,
                range.start.min(self.len()),
                range.len().min(self.len() - range.start.min(self.len())),
            )
        };
        #[cfg(not(unix))]
        let _ = range;
    }

    /// Takes back [`MappedFile::expect_sequential_reads`]: pages are used again.
    pub fn expect_any_reads(&self) {
        #[cfg(unix)]
        let _ = self.map.advise(memmap2::Advice::Normal);
    }

    /// The `len` f32 that begin at byte `first`, in place: the weights of a model, which would
    /// otherwise be in memory twice. `None` if they are not aligned, reach beyond the file, or the
    /// machine is not little-endian as the file is.
    ///
    /// The file must not be written in place while it is mapped. Programs that save weights
    /// (ours, the `safetensors` library) write a new file.
    pub(crate) fn floats(&self, first: usize, len: usize) -> Option<&[f32]> {
        let end = first.checked_add(len.checked_mul(size_of::<f32>())?)?;
        let start = self.map.as_ptr().wrapping_add(first).cast::<f32>();
        if end > self.len() || !start.is_aligned() || cfg!(target_endian = "big") {
            return None;
        }
        // SAFETY: the range is within the map and aligned, every bit pattern is an f32, and the
        // reference does not outlive the map. Another program could change the file under it; as
        // in every reader of mapped weights, that is excluded by agreement (see above), and what a
        // change could do is change numbers: kernels take lengths and indices from elsewhere.
        Some(unsafe { std::slice::from_raw_parts(start, len) })
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
    fn bytes_are_copied_from_any_place_in_any_number() {
        let bytes: Vec<u8> = (0..100_u32).map(|i| (i * 37 % 251) as u8).collect();
        let path = file("bytes", &bytes);
        let mapped = MappedFile::open(&path).unwrap();
        mapped.expect_sequential_reads();
        for first in 0..=bytes.len() {
            for len in 0..=bytes.len() - first {
                let mut to = vec![0xff; len];
                mapped.copy_to(first, &mut to);
                assert_eq!(to, bytes[first..first + len]);
            }
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    #[should_panic(expected = "3 bytes at 2 of a file of 4")]
    fn bytes_beyond_the_file_panic() {
        let path = file("beyond-bytes", &[0; 4]);
        let mapped = MappedFile::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        mapped.copy_to(2, &mut [0; 3]);
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
