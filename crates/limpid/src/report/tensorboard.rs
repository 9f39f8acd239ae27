//! TensorBoard event files. The format, all numbers little-endian:
//!
//! ```text
//! record   length (u64) · masked crc32c of these 8 bytes · data · masked crc32c of the data
//! masked   (crc >> 15 | crc << 17) + 0xa282ead8
//! data     Event { 1: wall_time double, 2: step int64, 3: file_version string, 5: summary Summary }
//! Summary  { 1: repeated Value { 1: tag string, 2: simple_value float } }      as protocol buffers
//! ```
//!
//! Scalars only; samples are in `report.html`.
//!
//! ```
//! use limpid::report::{Metric, Train, tensorboard};
//!
//! let started = 1_700_000_000; // seconds since 1970
//! let path = std::env::temp_dir().join(tensorboard::file_name(started));
//! let line = Metric::Train(Train { step: 1, loss: 5.1, ..Train::default() });
//! tensorboard::write_all(&path, started, &[line])?; // tensorboard --logdir … shows it
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::run::Metric;
use crate::error::{Error, Result};
use crate::files::write_atomic;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The name of the event file of a run that started at this time (Unix seconds).
pub fn file_name(started: u64) -> String {
    format!("events.out.tfevents.{started}.limpid")
}

/// Writes the whole file from `metrics.jsonl`, after a run was rolled back to a checkpoint. The
/// same bytes as an [`Appender`] writes metric by metric.
/// # Errors
/// If the file cannot be written.
pub fn write_all(path: &Path, started: u64, metrics: &[Metric]) -> Result<()> {
    let mut clock = Clock { started: started as f64, now: started as f64 };
    let mut bytes = header(clock.now);
    metrics.iter().for_each(|metric| bytes.extend(clock.record(metric)));
    write_atomic(path, &bytes)
}

/// An event file that is appended to during a run.
pub struct Appender {
    file: File,
    path: PathBuf,
    clock: Clock,
}

impl Appender {
    /// Opens or creates a file. An incomplete record at its end, as a killed run leaves it, is
    /// truncated.
    /// # Errors
    /// If the file cannot be read or written.
    pub fn open(path: &Path, started: u64) -> Result<Self> {
        let wrong = |e: std::io::Error| Error::io("write", path, e);
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(Error::io("read", path, e)),
        };
        let (whole, last) = whole_records(&bytes);
        let mut file =
            File::options().write(true).create(true).truncate(false).open(path).map_err(wrong)?;
        file.set_len(whole as u64).map_err(wrong)?;
        file.seek(SeekFrom::End(0)).map_err(wrong)?;
        let clock = Clock { started: started as f64, now: last.unwrap_or(started as f64) };
        if whole == 0 {
            file.write_all(&header(clock.now)).map_err(wrong)?;
        }
        Ok(Self { file, path: path.to_path_buf(), clock })
    }

    /// Appends a metric.
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&mut self, metric: &Metric) -> Result<()> {
        let record = self.clock.record(metric);
        self.file.write_all(&record).map_err(|e| Error::io("write", &self.path, e))
    }
}

/// Wall times of metrics: training lines have the time since the start; validation gets that of the
/// training line before it.
struct Clock {
    started: f64,
    now: f64,
}

impl Clock {
    /// The record of a metric; empty for a sample.
    fn record(&mut self, metric: &Metric) -> Vec<u8> {
        let (step, scalars) = match metric {
            Metric::Train(train) => {
                self.now = train.seconds.map_or(self.now, |seconds| self.started + seconds);
                let optional = [
                    ("train/learning_rate", train.lr),
                    ("train/gradient_norm", train.grad_norm),
                    ("train/tokens_per_second", train.tokens_per_second),
                ];
                (train.step, scalars("train/loss", train.loss, &optional))
            }
            // A second value of one step has no place on a curve.
            Metric::Validation(validation) if validation.checkpoints_averaged.is_some() => {
                return Vec::new();
            }
            Metric::Validation(validation) => {
                let optional = [
                    ("validation/perplexity", validation.perplexity),
                    ("validation/bits_per_character", validation.bits_per_character),
                    ("validation/bleu", validation.bleu),
                    ("validation/accuracy", validation.accuracy),
                    ("validation/macro_f1", validation.macro_f1),
                    ("validation/micro_f1", validation.micro_f1),
                    ("validation/f1", validation.f1),
                    ("validation/exact_match", validation.exact_match),
                    ("validation/pearson", validation.pearson),
                    ("validation/spearman", validation.spearman),
                    ("validation/pair_accuracy", validation.pair_accuracy),
                ];
                (validation.step, scalars("validation/loss", validation.loss, &optional))
            }
            Metric::Sample(_) => return Vec::new(),
        };
        record(&scalar_event(self.now, step, &scalars))
    }
}

fn scalars(
    name: &'static str,
    loss: f64,
    optional: &[(&'static str, Option<f64>)],
) -> Vec<(&'static str, f32)> {
    let known = optional.iter().filter_map(|(name, value)| Some((*name, (*value)? as f32)));
    std::iter::once((name, loss as f32)).chain(known).collect()
}

/// The first record of every file.
fn header(wall_time: f64) -> Vec<u8> {
    let mut event = wall_time_field(wall_time);
    field(&mut event, 3, b"brain.Event:2");
    record(&event)
}

fn scalar_event(wall_time: f64, step: u64, scalars: &[(&str, f32)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, number) in scalars {
        let mut value = Vec::new();
        field(&mut value, 1, tag.as_bytes());
        value.push(2 << 3 | 5); // field 2, four bytes
        value.extend(number.to_le_bytes());
        field(&mut summary, 1, &value);
    }
    let mut event = wall_time_field(wall_time);
    // Protocol buffers leave out what is zero.
    if step > 0 {
        event.push(2 << 3); // field 2, varint
        varint(&mut event, step);
    }
    field(&mut event, 5, &summary);
    event
}

fn wall_time_field(wall_time: f64) -> Vec<u8> {
    let mut event = vec![1 << 3 | 1]; // field 1, eight bytes
    event.extend(wall_time.to_le_bytes());
    event
}

/// A field of bytes: text or a message.
fn field(into: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    into.push(number << 3 | 2);
    varint(into, bytes.len() as u64);
    into.extend(bytes);
}

/// A varint: seven bits per byte, lowest first; the eighth says that more follow.
fn varint(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(data.len() + 16);
    record.extend(length);
    record.extend(masked_crc(&length).to_le_bytes());
    record.extend(data);
    record.extend(masked_crc(data).to_le_bytes());
    record
}

/// The length of the valid records of a file, and the time of the last one.
fn whole_records(bytes: &[u8]) -> (usize, Option<f64>) {
    let (mut at, mut last) = (0, None);
    while let Some(data) = record_at(&bytes[at..]) {
        at += data.len() + 16;
        last = data
            .get(1..9)
            .and_then(|time| Some(f64::from_le_bytes(time.try_into().ok()?)))
            .or(last);
    }
    (at, last.filter(|time| time.is_finite()))
}

/// The data of the first record, if it is complete.
fn record_at(bytes: &[u8]) -> Option<&[u8]> {
    let length = bytes.get(..8)?;
    let sum =
        |at: usize| Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?));
    if sum(8)? != masked_crc(length) {
        return None;
    }
    let size = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let end = size.checked_add(12)?;
    let data = bytes.get(12..end)?;
    (sum(end)? == masked_crc(data)).then_some(data)
}

fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C, bit by bit: records are small.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::run::{Sample, Train, Validation};
    use super::*;

    /// TensorBoard 2.21's own `RecordWriter` and `Event`: file_version at 1700000000.25; at
    /// 1700000001.5 step 10 with train/loss 5.125; at 1700000002 step 200 with validation/loss 3.2
    /// and validation/perplexity 24.5.
    const GOLDEN: &str = "1800000000000000a37f4b220900001040fc54d9411a0d627261696e2e4576656e743a32338d2fe9\
        200000000000000029eda9500900006040fc54d941100a2a130a110a0a747261696e2f6c6f7373150000a4400c071d3d\
        440000000000000043592e9a0900008040fc54d94110c8012a360a160a0f76616c69646174696f6e2f6c6f737315cdcc4c40\
        0a1c0a1576616c69646174696f6e2f706572706c6578697479150000c441edc020c9";

    #[test]
    fn records_are_those_of_tensorboards_own_writer() {
        let train = scalar_event(1_700_000_001.5, 10, &[("train/loss", 5.125)]);
        let both = [("validation/loss", 3.2), ("validation/perplexity", 24.5)];
        let validation = scalar_event(1_700_000_002.0, 200, &both);
        let ours = [header(1_700_000_000.25), record(&train), record(&validation)].concat();
        assert_eq!(ours.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), GOLDEN);
        assert_eq!(whole_records(&ours), (ours.len(), Some(1_700_000_002.0)));
    }

    #[test]
    fn crc32c_agrees_with_the_vectors_of_rfc_3720() {
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    fn metrics() -> Vec<Metric> {
        let train = |step| {
            Metric::Train(Train {
                step,
                loss: 9.0 - step as f64,
                lr: Some(1e-3),
                seconds: Some(0.5 * step as f64),
                ..Train::default()
            })
        };
        let validation =
            Validation { step: 2, loss: 3.0, bleu: Some(31.0), ..Validation::default() };
        vec![
            train(0),
            train(1),
            train(2),
            Metric::Validation(validation),
            Metric::Sample(Sample::default()),
            train(300),
        ]
    }

    #[test]
    fn a_file_that_was_torn_anywhere_goes_on_to_the_bytes_of_one_that_was_not() {
        let folder = std::env::temp_dir().join(format!("limpid-events-{}", std::process::id()));
        crate::files::create_folder(&folder).unwrap();
        let (whole, torn) = (folder.join(file_name(1_700_000_000)), folder.join("torn"));
        let metrics = metrics();
        write_all(&whole, 1_700_000_000, &metrics).unwrap();
        let bytes = std::fs::read(&whole).unwrap();
        // Where the records end: the header, then each metric (a sample has none).
        let mut ends = vec![0, header(0.0).len()];
        let mut clock = Clock { started: 0.0, now: 0.0 };
        for metric in &metrics {
            ends.push(ends.last().unwrap() + clock.record(metric).len());
        }
        assert_eq!(*ends.last().unwrap(), bytes.len());
        for cut in 0..=bytes.len() {
            std::fs::write(&torn, &bytes[..cut]).unwrap();
            let mut appender = Appender::open(&torn, 1_700_000_000).unwrap();
            let there = ends[1..].iter().filter(|&&end| end <= cut).count().saturating_sub(1);
            metrics[there..].iter().for_each(|metric| appender.append(metric).unwrap());
            drop(appender);
            assert!(std::fs::read(&torn).unwrap() == bytes, "torn at {cut} of {}", bytes.len());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
