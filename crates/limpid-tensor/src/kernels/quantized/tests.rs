//! Quantised products against naive references, on every instruction set.

use super::half::{bf16_to_f32, f16_to_f32};
use super::headroom::Headroom;
use super::*;
use crate::rng::Stream;

fn random(len: usize, stream: u64) -> Vec<f32> {
    let mut rng = Stream::new(9, stream);
    (0..len).map(|_| rng.uniform() * 2.0 - 1.0).collect()
}

fn matrix(format: Format, o: usize, i: usize) -> QuantizedMatrix {
    QuantizedMatrix::quantize(format, &random(o * i, 1), (o, i)).unwrap()
}

fn dequantized(w: &QuantizedMatrix) -> Vec<f32> {
    let (o, i) = w.shape();
    let mut all = vec![f32::NAN; o * i];
    all.chunks_exact_mut(i).enumerate().for_each(|(row, to)| w.row(row, to));
    all
}

fn product(w: &QuantizedMatrix, dot: IntegerDot, a: &[f32]) -> Vec<f32> {
    let (o, i) = w.shape();
    let m = a.len() / i;
    let mut c = vec![f32::NAN; m * o];
    w.product_with(dot, MatMut::new(&mut c, m, o), Mat::new(a, m, i), |_, _, _| {});
    c
}

/// The documented formulas, element by element, with the activations quantised here.
fn reference(w: &QuantizedMatrix, a: &[f32]) -> Vec<f32> {
    let ((o, i), plain) = (w.shape(), dequantized(w));
    let mut c = Vec::new();
    for x in a.chunks_exact(i) {
        let scaled = if w.format() == Format::Int8 { INT8_GROUP } else { i };
        let largest = |x: &[f32]| x.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        let row_scales: Vec<f32> = x.chunks(scaled).map(|x| largest(x) / 127.0).collect();
        let quantized = |x: &[f32]| {
            let inverse = 127.0 / largest(x);
            x.iter().map(|x| (x * inverse).round_ties_even()).collect::<Vec<f32>>()
        };
        let q: Vec<f32> = x.chunks(scaled).flat_map(quantized).collect();
        for (j, weights) in plain.chunks_exact(i).enumerate() {
            let integers = |scale: f32, at: Range<usize>| -> f32 {
                // A weight is an integer times its scale, which division gives back.
                let integer = |k: usize| if scale == 0.0 { 0.0 } else { weights[k] / scale };
                at.map(|k| (integer(k).round() as i32) * q[k] as i32).sum::<i32>() as f32
            };
            let (groups, len) = (w.format().groups(i), w.format().group_len());
            let is_int8 = w.format() == Format::Int8;
            let row_scale = |group: usize| if is_int8 { row_scales[group] } else { 1.0 };
            let mut sum = 0.0;
            for group in 0..groups {
                let at = (j / PANEL * groups + group) * PANEL + j % PANEL;
                let scale = f16_to_f32(w.scales[at]);
                let part = integers(scale, group * len..i.min((group + 1) * len)) * scale;
                sum += part * row_scale(group);
            }
            c.push(if is_int8 { sum } else { sum * row_scales[0] });
        }
    }
    assert_eq!(c.len(), a.len() / i * o);
    c
}

const SHAPES: [(usize, usize, usize); 9] = [
    (1, 32, 1),
    (1, 64, 100),
    (2, 96, 17),
    (5, 32, 64),
    (6, 128, 65),
    (7, 160, 130),
    (13, 256, 48),
    (100, 64, 200),
    (3, 1024, 700),
];

#[test]
fn integer_products_have_the_bits_of_the_formula_on_every_instruction_set() {
    for format in [Format::Int8, Format::Int4] {
        for (m, i, o) in SHAPES {
            // Odd widths too, which int4 does not have.
            for i in if format == Format::Int8 { vec![i, i - 1, i - 2, i - 3] } else { vec![i] } {
                let (w, a) = (matrix(format, o, i), random(m * i, 2));
                let want = reference(&w, &a);
                for dot in IntegerDot::available() {
                    assert_eq!(product(&w, dot, &a), want, "{format} {dot:?} ({m},{i})·({i},{o})");
                }
            }
        }
    }
}

#[test]
fn the_extremes_of_the_bytes_do_not_overflow() {
    // The largest sums there are: every product is ±127·128, over the most inputs.
    for i in [4, QuantizedMatrix::MOST_INPUTS] {
        let weights = vec![0x80; Format::Int8.weight_bytes(1, i)]; // −128
        let scales = 0x3c00_u16.to_le_bytes().repeat(Format::Int8.scale_bytes(1, i) / 2);
        let w = QuantizedMatrix::from_parts(Format::Int8, (1, i), &weights, &scales).unwrap();
        let nibbles = vec![0; Format::Int4.weight_bytes(1, i.max(32))]; // −8
        let ones = 0x3c00_u16.to_le_bytes().repeat(Format::Int4.scale_bytes(1, i.max(32)) / 2);
        let w4 = QuantizedMatrix::from_parts(Format::Int4, (1, i.max(32)), &nibbles, &ones);
        for sign in [1.0, -1.0] {
            for dot in IntegerDot::available() {
                let want = -sign * (127 * 128 * i) as f32;
                assert_eq!(product(&w, dot, &vec![127.0 * sign; i]), [want], "{dot:?}");
                let want = -sign * (127 * 8 * i.max(32)) as f32;
                let got = product(w4.as_ref().unwrap(), dot, &vec![127.0 * sign; i.max(32)]);
                assert_eq!(got, [want], "{dot:?}");
            }
        }
    }
}

/// An int8 matrix of these rows of weights, with scales of 1.
fn of_integers(rows: &[Vec<i8>]) -> QuantizedMatrix {
    let (o, i) = (rows.len(), rows[0].len());
    let mut weights = vec![0; Format::Int8.weight_bytes(o, i)];
    for (row, w) in rows.iter().enumerate() {
        for (k, w) in w.iter().enumerate() {
            let four = row / PANEL * i.div_ceil(4) + k / 4;
            weights[4 * (four * PANEL + row % PANEL) + k % 4] = *w as u8;
        }
    }
    let scales = 0x3c00_u16.to_le_bytes().repeat(Format::Int8.scale_bytes(o, i) / 2);
    QuantizedMatrix::from_parts(Format::Int8, (o, i), &weights, &scales).unwrap()
}

/// Checks every instruction set against sums of 64 bits. Groups whose largest activation is 127
/// are their own bytes.
fn assert_exact(rows: &[Vec<i8>], activations: &[Vec<i8>]) {
    let w = of_integers(rows);
    let a: Vec<f32> = activations.concat().into_iter().map(f32::from).collect();
    for dot in IntegerDot::available() {
        let c = product(&w, dot, &a);
        for (r, x) in activations.iter().enumerate() {
            for (j, w) in rows.iter().enumerate() {
                let products = x.iter().zip(w).map(|(x, w)| i64::from(*x) * i64::from(*w));
                assert_eq!(c[r * rows.len() + j], products.sum::<i64>() as f32, "{dot:?} {r} {j}");
            }
        }
    }
}

/// Rows of the extreme activations, in all patterns of signs of eight.
fn extreme_activations(i: usize) -> Vec<Vec<i8>> {
    let sign = |pattern: usize, k: usize| if pattern >> (k % 8) & 1 == 1 { -127 } else { 127 };
    (0..256).map(|pattern| (0..i).map(|k| sign(pattern, k)).collect()).collect()
}

#[test]
fn quads_at_their_limit_do_not_overflow_and_those_beyond_it_are_exact_too() {
    let quads: [[i8; 4]; 9] = [
        [127, 1, 0, 0],
        [32, 32, 32, 32],
        [64, 0, 64, 0],
        [0, 1, 0, 127],
        [-127, -1, 0, 0],
        [-32, -32, -32, -32],
        [-128, 0, 0, 0],
        [100, -100, 28, -28],
        [-1, 127, -127, 1],
    ];
    for (more, expected) in [(0, Headroom::Quads), (1, Headroom::None)] {
        // One quad of one channel is `more` beyond the limit.
        let rows: Vec<Vec<i8>> = (0..19)
            .map(|row| {
                let mut w = vec![0_i8; 44];
                for (k, w) in w.iter_mut().enumerate() {
                    let place = k / 4 % 2 * 2 + k % 2;
                    *w = quads[(row + headroom::quad(k)) % quads.len()][place];
                }
                let first = (0..44).find(|k| row == 7 && w[*k] == 32);
                first.into_iter().for_each(|k| w[k] += more);
                w
            })
            .collect();
        assert_eq!(of_integers(&rows).headroom, expected);
        assert_exact(&rows, &extreme_activations(44));
    }
}

#[test]
fn any_bytes_are_multiplied_exactly() {
    let mut rng = Stream::new(3, 1);
    let mut byte = |low: i32| (rng.below((128 - low) as usize) as i32 + low) as i8;
    let rows: Vec<Vec<i8>> = (0..40).map(|_| (0..70).map(|_| byte(-128)).collect()).collect();
    let mut activations: Vec<Vec<i8>> =
        (0..9).map(|_| (0..70).map(|_| byte(-127)).collect()).collect();
    activations.iter_mut().for_each(|row| (row[3], row[67]) = (127, 127));
    assert_eq!(of_integers(&rows).headroom, Headroom::None);
    assert_exact(&rows, &activations);
}

#[test]
fn quantised_weights_have_headroom_whatever_their_distribution() {
    let i = 203;
    let equal = vec![0.7; i];
    let rising: Vec<f32> = (0..i).map(|k| k as f32).collect();
    let outlier: Vec<f32> = (0..i).map(|k| if k == 77 { -50.0 } else { 0.01 }).collect();
    for row in [equal, rising, outlier, random(i, 5)] {
        let w = QuantizedMatrix::quantize(Format::Int8, &row, (1, i)).unwrap();
        assert_eq!(w.headroom, Headroom::Quads);
        let all = dequantized(&w);
        let groups = row.chunks(INT8_GROUP).zip(all.chunks(INT8_GROUP));
        for (group, (row, got)) in groups.enumerate() {
            let scale = f16_to_f32(w.scales[group * PANEL]);
            let near = |(got, want): (&f32, &f32)| (got - want).abs() <= 0.51 * scale;
            assert!(got.iter().zip(row).all(near), "{scale}");
            // Four equal weights are the worst there is.
            let largest = row.iter().fold(0.0_f32, |m, w| m.max(w.abs()));
            assert!(scale <= 1.02 * largest / 32.0);
        }
    }
    // An outlier that stands alone costs nothing.
    let outlier: Vec<f32> = (0..i).map(|k| if k == 77 { -50.0 } else { 0.01 }).collect();
    let w = QuantizedMatrix::quantize(Format::Int8, &outlier, (1, i)).unwrap();
    let scale = f16_to_f32(w.scales[77 / INT8_GROUP * PANEL]);
    assert!((scale * 127.0 / 50.0 - 1.0).abs() < 1e-3, "{scale}");
}

#[test]
fn bf16_products_agree_with_f64_and_with_each_other_where_multiply_adds_are_fused() {
    for (m, i, o) in SHAPES {
        let (w, a) = (matrix(Format::Bf16, o, i - 1), random(m * (i - 1), 2));
        let plain = dequantized(&w);
        let mut fused: Option<Vec<f32>> = None;
        for dot in IntegerDot::available() {
            let c = product(&w, dot, &a);
            for (at, c) in c.iter().enumerate() {
                let (x, w) = (&a[at / o * (i - 1)..], &plain[at % o * (i - 1)..][..i - 1]);
                let want: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                let size: f64 =
                    x.iter().zip(w).map(|(x, w)| (f64::from(*x) * f64::from(*w)).abs()).sum();
                assert!((f64::from(*c) - want).abs() <= 1e-6 * size, "{c} is not {want}");
            }
            if dot != IntegerDot::Plain {
                assert_eq!(fused.get_or_insert(c.clone()), &c, "{dot:?}");
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_in_any_batch_and_with_any_number_of_threads() {
    for format in Format::ALL {
        for (i, o) in [(768, 300), (96, 2000), (256, 65)] {
            let (w, a) = (matrix(format, o, i), random(40 * i, 2));
            for dot in IntegerDot::available() {
                let all = product(&w, dot, &a);
                for m in [1, 2, 3, 5, 6, 7, 13, 40] {
                    for first in [0, 40 - m] {
                        let rows = product(&w, dot, &a[first * i..(first + m) * i]);
                        assert_eq!(rows, all[first * o..(first + m) * o], "{format} {m} {dot:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_element_is_finished_once_and_columns_beyond_the_matrix_are_not_written() {
    for format in Format::ALL {
        for (m, i, o, apart) in [(1, 64, 33, 40), (9, 96, 50, 50), (30, 128, 1000, 1003)] {
            let (w, a) = (matrix(format, o, i), random(m * i, 2));
            let want = product(&w, IntegerDot::current(), &a);
            let mut c = vec![7.0; (m - 1) * apart + o];
            let out = MatMut::with_stride(&mut c, m, o, apart);
            w.product_on_team(out, Mat::new(&a, m, i), |row, first, part| {
                let add = |(j, c): (usize, &mut f32)| *c += (row * 2000 + first + j) as f32;
                part.iter_mut().enumerate().for_each(add);
            });
            for (at, c) in c.iter().enumerate() {
                let (row, col) = (at / apart, at % apart);
                if col < o {
                    assert_eq!(*c, want[row * o + col] + (row * 2000 + col) as f32);
                } else {
                    assert_eq!(*c, 7.0);
                }
            }
        }
    }
}

#[test]
fn a_dequantised_weight_is_within_half_a_step_of_the_original() {
    let (o, i) = (37, 96);
    let original = random(o * i, 1);
    for format in Format::ALL {
        let w = matrix(format, o, i);
        for (at, (got, want)) in dequantized(&w).iter().zip(&original).enumerate() {
            let (row, col) = (at / i, at % i);
            let step = match format {
                Format::Int8 | Format::Int4 => {
                    let len = format.group_len();
                    let group = row / PANEL * format.groups(i) + col / len;
                    f16_to_f32(w.scales[group * PANEL + row % PANEL])
                }
                Format::Bf16 => want.abs() / 128.0,
            };
            // The largest weight of an int4 group may be clipped, by at most one and a bit.
            let most = if format == Format::Int4 { 2.1 } else { 0.51 };
            assert!((got - want).abs() <= most * step, "{format} {got} for {want}, step {step}");
        }
    }
}

#[test]
fn int4_scales_err_less_than_the_one_that_clips_nothing() {
    let original = random(64 * 320, 3);
    let w = QuantizedMatrix::quantize(Format::Int4, &original, (64, 320)).unwrap();
    let error = |got: &[f32]| -> f64 {
        got.iter().zip(&original).map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    let simple: Vec<f32> = original
        .chunks_exact(GROUP)
        .flat_map(|group| {
            let scale = group.iter().fold(0.0_f32, |m, w| m.max(w.abs())) / 7.0;
            group.iter().map(move |w| (w / scale).round() * scale)
        })
        .collect();
    assert!(error(&dequantized(&w)) < 0.95 * error(&simple));
}

#[test]
fn parts_that_do_not_fit_are_refused_with_what_was_expected() {
    let w = matrix(Format::Int4, 20, 64);
    let again =
        QuantizedMatrix::from_parts(Format::Int4, (20, 64), w.weights(), &w.scales()).unwrap();
    assert_eq!(dequantized(&w), dequantized(&again));
    let refused = |format, shape, weights: &[u8], scales: &[u8]| {
        QuantizedMatrix::from_parts(format, shape, weights, scales).unwrap_err()
    };
    assert_eq!(
        refused(Format::Int4, (20, 48), w.weights(), &w.scales()),
        QuantizeError::Group { inputs: 48, group: 32 }
    );
    assert_eq!(
        refused(Format::Int4, (20, 64), &w.weights()[1..], &w.scales()),
        QuantizeError::Length { part: "weights", found: 1023, expected: 1024 }
    );
    assert_eq!(
        refused(Format::Int4, (20, 64), w.weights(), &[]),
        QuantizeError::Length { part: "scales", found: 0, expected: 128 }
    );
    let nan = [0_u16, 0x7e00, 0, 0].map(u16::to_le_bytes).concat().repeat(4);
    let weights = vec![0; Format::Int8.weight_bytes(2, 3)];
    let error = refused(Format::Int8, (2, 3), &weights, &nan);
    assert!(matches!(error, QuantizeError::Scale { at: 1, value } if value.is_nan()));
    assert_eq!(
        QuantizedMatrix::quantize(Format::Bf16, &[0.0, 1.0, f32::INFINITY, 0.0], (2, 2)).err(),
        Some(QuantizeError::NotFinite { row: 1, col: 0 })
    );
}

#[test]
fn rows_that_are_zero_or_not_finite_give_zeros_or_nan_and_leave_other_rows_alone() {
    let w = matrix(Format::Int8, 19, 40);
    let mut a = random(4 * 40, 2);
    a[..40].fill(0.0);
    a[45] = f32::NAN;
    a[85] = f32::NEG_INFINITY;
    for dot in IntegerDot::available() {
        let c = product(&w, dot, &a);
        assert!(c[..19].iter().all(|c| *c == 0.0));
        assert!(c[19..3 * 19].iter().all(|c| c.is_nan()));
        assert_eq!(c[3 * 19..], product(&w, dot, &a[120..]));
    }
    let tiny = vec![1e-38; 40];
    assert!(product(&w, IntegerDot::current(), &tiny).iter().all(|c| *c == 0.0));
}

#[test]
fn bf16_weights_are_the_upper_halves_of_their_numbers() {
    let values = [1.0, -2.5, 3.140_625, 0.0];
    let w = QuantizedMatrix::quantize(Format::Bf16, &values, (2, 2)).unwrap();
    assert_eq!(dequantized(&w), values);
    assert_eq!(bf16_to_f32(u16::from_le_bytes([w.weights()[0], w.weights()[1]])), 1.0);
}

#[test]
#[should_panic(expected = "product: (2,3)·(4,5) does not give (2,5)")]
fn shapes_that_do_not_fit_panic_and_name_all_three() {
    let w = matrix(Format::Int8, 5, 4);
    w.product_on_team(MatMut::new(&mut [0.0; 10], 2, 5), Mat::new(&[0.0; 6], 2, 3), |_, _, _| {});
}
