//! One safetensors file, mapped into memory: a table of contents, and numbers that are used in
//! place or copied once, from the file to where they belong.

use crate::error::{Error, FileError, ModelError, Result};
use crate::files::is_lfs_pointer;
use limpid_tensor::kernels::elementwise::first_not_finite;
use limpid_tensor::mapped::MappedFile;
use limpid_tensor::params::MappedFloats;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest table of contents, as in the `safetensors` library.
const MAX_HEADER: usize = 100_000_000;

/// Bytes that are converted at a time: they stay in the first cache.
const CHUNK: usize = 1 << 13;

/// A mapped safetensors file.
#[derive(Debug)]
pub(super) struct WeightFile {
    path: PathBuf,
    map: Arc<MappedFile>,
    metadata: Metadata,
    /// Where the numbers begin.
    first: usize,
}

impl WeightFile {
    /// Maps a file and parses its table of contents.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let map = MappedFile::open(path).map_err(|e| Error::io("read", path, e))?;
        map.expect_sequential_reads();
        if is_lfs_pointer(&map.bytes(0..map.len().min(64))) {
            return Err(FileError::GitLfsPointer { path: path.to_path_buf() }.into());
        }
        match parse(&map) {
            Ok((metadata, first)) => {
                let (path, map) = (path.to_path_buf(), Arc::new(map));
                Ok(Self { path, map, metadata, first })
            }
            Err(reason) => {
                let error = ModelError::NotSafetensors { bytes: map.len(), reason };
                Err(Error::from(error).in_file(path))
            }
        }
    }

    /// Its pages will be used again and again, in any order.
    pub(super) fn expect_use(&self) {
        self.map.expect_any_reads();
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of its tensors, in the order of the file.
    pub(super) fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    /// A tensor by its name.
    pub(super) fn tensor(&self, name: &str) -> Option<StoredTensor<'_>> {
        let (name, info) = (name.to_string(), self.metadata.info(name)?);
        Some(StoredTensor { file: self, name, info })
    }
}

/// The table of contents, and where the numbers begin.
fn parse(map: &MappedFile) -> Result<(Metadata, usize), String> {
    let size: [u8; 8] =
        map.bytes(0..map.len().min(8)).try_into().map_err(|_| "shorter than its header")?;
    let header = usize::try_from(u64::from_le_bytes(size)).unwrap_or(usize::MAX);
    if header > MAX_HEADER || header > map.len() - 8 {
        return Err("its table of contents is longer than the file".into());
    }
    let first = 8 + header;
    let metadata: Metadata =
        serde_json::from_slice(&map.bytes(8..first)).map_err(|e| e.to_string())?;
    let numbers = map.len() - first;
    match metadata.data_len() == numbers {
        true => Ok((metadata, first)),
        false => Err(format!(
            "its table of contents describes {} bytes of numbers, it has {numbers}",
            metadata.data_len()
        )),
    }
}

/// A tensor in a mapped file.
#[derive(Clone, Debug)]
pub(super) struct StoredTensor<'a> {
    file: &'a WeightFile,
    name: String,
    info: &'a TensorInfo,
}

impl<'a> StoredTensor<'a> {
    /// The file that holds it.
    pub(super) fn file(&self) -> &'a WeightFile {
        self.file
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn shape(&self) -> &[usize] {
        &self.info.shape
    }

    /// The type of its numbers.
    pub(super) fn dtype(&self) -> Dtype {
        self.info.dtype
    }

    /// Bytes it has in the file.
    pub(super) fn bytes(&self) -> usize {
        self.range().len()
    }

    /// Copies its bytes from `start` on, as they are.
    /// # Panics
    /// If it has fewer.
    pub(super) fn copy_bytes(&self, start: usize, to: &mut [u8]) {
        assert!(start + to.len() <= self.bytes(), "{} has {} bytes", self.name, self.bytes());
        self.file.map.copy_to(self.range().start + start, to);
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        // The table of contents was refused if this overflows.
        self.info.shape.iter().product()
    }

    /// An error in the file that holds the tensor.
    pub(super) fn error(&self, error: ModelError) -> Error {
        Error::from(error).in_file(&self.file.path)
    }

    /// Copies all its bytes; its pages leave the memory of this process.
    /// # Panics
    /// If it has another number of bytes.
    pub(super) fn take_bytes(&self, to: &mut [u8]) {
        assert_eq!(to.len(), self.bytes(), "bytes of {}", self.name);
        self.copy_bytes(0, to);
        self.file.map.expect_no_reads(self.range());
    }

    /// Its bytes, if it is of this type.
    pub(super) fn bytes_of(&self, dtype: Dtype) -> Result<Vec<u8>> {
        self.check_dtype(dtype)?;
        Ok(self.file.map.bytes(self.range()))
    }

    /// Checks that it is of this type.
    pub(super) fn check_dtype(&self, dtype: Dtype) -> Result<()> {
        if self.info.dtype != dtype {
            let (tensor, found) = (self.name.clone(), format!("{:?}", self.info.dtype));
            let expected = format!("{dtype:?}");
            return Err(self.error(ModelError::PackedDtype { tensor, found, expected }));
        }
        Ok(())
    }

    /// Where in its file the numbers are, in bytes.
    fn range(&self) -> Range<usize> {
        let (start, end) = self.info.data_offsets;
        self.file.first + start..self.file.first + end
    }

    /// The numbers of this tensor and of those that follow it, in place: if all are f32, lie in one
    /// file and each begins where the last one ends. Every number must be finite.
    pub(super) fn in_place(&self, following: &[StoredTensor]) -> Result<Option<MappedFloats>> {
        let all = || std::iter::once(self).chain(following);
        let mut end = self.range().start;
        for tensor in all() {
            let joins = std::ptr::eq(tensor.file, self.file) && tensor.range().start == end;
            if !joins || tensor.info.dtype != Dtype::F32 {
                return Ok(None);
            }
            end = tensor.range().end;
        }
        let len = all().map(StoredTensor::len).sum();
        let file = self.file.map.clone();
        let Some(floats) = MappedFloats::new(file, self.range().start, len) else {
            return Ok(None);
        };
        let Some(mut index) = first_not_finite(floats.as_slice()) else { return Ok(Some(floats)) };
        let (value, mut holder) = (floats.as_slice()[index], self);
        for next in following {
            if index < holder.len() {
                break;
            }
            index -= holder.len();
            holder = next;
        }
        let tensor = holder.name.clone();
        Err(self.error(ModelError::NotFinite { tensor, index, value }))
    }

    /// Fills `to` with the elements from `start` on, in the order of the file, as f32. Every number
    /// must be finite.
    /// # Panics
    /// If the tensor has fewer.
    pub(super) fn read(&self, start: usize, to: &mut [f32]) -> Result<()> {
        match self.info.dtype {
            Dtype::F32 => self.read_as(start, to, f32::from_le_bytes),
            Dtype::F16 => self.read_as(start, to, |b| half::f16::from_le_bytes(b).to_f32()),
            Dtype::BF16 => self.read_as(start, to, |b| half::bf16::from_le_bytes(b).to_f32()),
            other => {
                let (tensor, dtype) = (self.name.clone(), format!("{other:?}"));
                Err(self.error(ModelError::UnsupportedDtype { tensor, dtype }))
            }
        }
    }

    fn read_as<const N: usize>(
        &self,
        start: usize,
        to: &mut [f32],
        number: impl Fn([u8; N]) -> f32,
    ) -> Result<()> {
        assert!(start + to.len() <= self.len(), "{} has {} elements", self.name, self.len());
        let mut at = self.range().start + start * N;
        let mut buffer = [0; CHUNK];
        for (i, part) in to.chunks_mut(CHUNK / N).enumerate() {
            let bytes = &mut buffer[..part.len() * N];
            self.file.map.copy_to(at, bytes);
            at += bytes.len();
            let mut finite = true;
            for (x, bytes) in part.iter_mut().zip(bytes.as_chunks::<N>().0) {
                *x = number(*bytes);
                finite &= x.is_finite();
            }
            if !finite {
                let j = part.iter().position(|x| !x.is_finite()).expect("one is not");
                let (tensor, value) = (self.name.clone(), part[j]);
                let index = start + i * (CHUNK / N) + j;
                return Err(self.error(ModelError::NotFinite { tensor, index, value }));
            }
        }
        Ok(())
    }

    /// Whether it holds the same numbers as another tensor, of whatever types.
    pub(super) fn same_numbers(&self, other: &StoredTensor) -> Result<bool> {
        if self.shape() != other.shape() {
            return Ok(false);
        }
        self.all_parts(|start, a| {
            let mut b = vec![0.0; a.len()];
            other.read(start, &mut b)?;
            Ok(a == b)
        })
    }

    /// How far numbers up to 1 may be from what was computed: they are rounded to the digits of the
    /// file, and other programs may compute sines in f32.
    pub(super) fn rounding(&self) -> f32 {
        match self.info.dtype {
            Dtype::BF16 => 4e-3,
            _ => 1e-3,
        }
    }

    /// Whether all numbers are within `tolerance` of these.
    pub(super) fn is_near(&self, expected: &[f32], tolerance: f32) -> Result<bool> {
        if self.len() != expected.len() {
            return Ok(false);
        }
        self.all_parts(|start, a| {
            let expected = &expected[start..start + a.len()];
            Ok(a.iter().zip(expected).all(|(a, b)| (a - b).abs() < tolerance))
        })
    }

    /// Whether all parts of the tensor pass a test, given with the index of their first element.
    fn all_parts(&self, mut test: impl FnMut(usize, &[f32]) -> Result<bool>) -> Result<bool> {
        let mut part = vec![0.0; CHUNK.min(self.len())];
        for start in (0..self.len()).step_by(CHUNK) {
            let part = &mut part[..CHUNK.min(self.len() - start)];
            self.read(start, part)?;
            if !test(start, part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

    /// A file with one tensor "x" of these values.
    fn file(name: &str, dtype: Dtype, bytes: &[u8]) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("limpid-weight-{name}-{}", std::process::id()));
        let shape = vec![bytes.len() / dtype.bitsize() * 8];
        let view = TensorView::new(dtype, shape, bytes).unwrap();
        std::fs::write(&path, safetensors::serialize([("x", view)], None).unwrap()).unwrap();
        path
    }

    #[test]
    fn numbers_of_three_types_are_read_from_any_place() {
        // More than two chunks; exact in all three types.
        let values: Vec<f32> = (0..10_000).map(|i| (i % 255) as f32 - 127.0).collect();
        let full: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let half: Vec<u8> =
            values.iter().flat_map(|x| half::f16::from_f32(*x).to_le_bytes()).collect();
        let brain: Vec<u8> =
            values.iter().flat_map(|x| half::bf16::from_f32(*x).to_le_bytes()).collect();
        let files = [
            file("f32", Dtype::F32, &full),
            file("f16", Dtype::F16, &half),
            file("bf16", Dtype::BF16, &brain),
        ];
        let open: Vec<WeightFile> = files.iter().map(|f| WeightFile::open(f).unwrap()).collect();
        let first = open[0].tensor("x").unwrap();
        for file in &open {
            let tensor = file.tensor("x").unwrap();
            for (start, len) in [(0, 10_000), (1, 9_999), (4_095, 5_000), (10_000, 0)] {
                let mut to = vec![f32::NAN; len];
                tensor.read(start, &mut to).unwrap();
                assert_eq!(to, values[start..start + len]);
            }
            assert!(tensor.same_numbers(&first).unwrap());
            assert!(tensor.is_near(&values, 1e-6).unwrap());
            let mut other = values.clone();
            other[9_999] += 1.0;
            assert!(!tensor.is_near(&other, 0.5).unwrap());
        }
        files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
    }

    #[test]
    fn an_infinite_number_is_refused_with_its_place() {
        let mut values = vec![1.0_f32; 5_000];
        values[4_321] = f32::INFINITY;
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let path = file("infinite", Dtype::F32, &bytes);
        let file = WeightFile::open(&path).unwrap();
        let error = file.tensor("x").unwrap().read(10, &mut vec![0.0; 4_990]).unwrap_err();
        assert!(error.to_string().contains("tensor x has inf at element 4321"), "{error}");
        std::fs::remove_file(path).unwrap();
    }
}
