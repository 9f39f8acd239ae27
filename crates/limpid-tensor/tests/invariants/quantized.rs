//! Products with quantized weights: every format and instruction set, strides, `finish`, few and
//! many rows.

use crate::cases::{Inputs, check, inputs, length, near};
use crate::exact::Exact;
use crate::memory::Guarded;
use limpid_tensor::kernels::matmul::{Mat, MatMut};
use limpid_tensor::kernels::quantized::{Format, GROUP, INT8_GROUP, IntegerDot, QuantizedMatrix};
use limpid_tensor::team;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

#[derive(Clone, Copy, Debug)]
struct Case {
    format: Format,
    m: usize,
    k: usize,
    n: usize,
    /// Elements between the rows of a and c that belong to no matrix.
    gaps: (usize, usize),
    inputs: Inputs,
}

fn cases() -> impl Strategy<Value = Case> {
    let formats = [Format::Int8, Format::Int4, Format::Bf16];
    let shape = (length(60), length(500), length(300));
    (0..3_usize, shape, (0..4_usize, 0..4_usize), inputs()).prop_map(
        move |(format, (m, k, n), gaps, inputs)| {
            let format = formats[format];
            let k = if format == Format::Int4 { k.next_multiple_of(GROUP) } else { k };
            Case { format, m, k, n, gaps, inputs }
        },
    )
}

/// Rows `gap` elements further apart than they are long, with NaN between them.
fn spread(inputs: &Inputs, which: u64, (rows, cols): (usize, usize), gap: usize) -> Guarded {
    let mut memory = inputs.guarded(which, (rows - 1) * (cols + gap) + cols);
    let between = |(at, _): &(usize, &mut f32)| at % (cols + gap) >= cols;
    memory.iter_mut().enumerate().filter(between).for_each(|(_, x)| *x = f32::NAN);
    memory
}

fn property(case: Case) -> TestCaseResult {
    let Case { format, m, k, n, inputs, .. } = case;
    let w = QuantizedMatrix::quantize(format, &inputs.plain(1, n * k), (n, k)).unwrap();
    let a = spread(&inputs, 2, (m, k), case.gaps.0);
    let a = Mat::with_stride(&a, m, k, k + case.gaps.0);
    let guarded = inputs.guarded(3, n);
    let bias: &[f32] = &guarded;
    let stride = n + case.gaps.1;
    let before = inputs.plain(4, (m - 1) * stride + n);
    let mut first: Option<Vec<f32>> = None;
    for dot in IntegerDot::available() {
        let mut c = Guarded::new(inputs.edge, &before);
        let out = MatMut::with_stride(&mut c, m, n, stride);
        w.product_with(dot, out, a, |_, first, part| {
            part.iter_mut().zip(&bias[first..]).for_each(|(c, bias)| *c += bias);
        });
        agrees_with_the_definition(&case, &w, a, bias, &before, &c)?;
        // Integer products have the same bits on every instruction set.
        let same = first.get_or_insert_with(|| c.to_vec());
        prop_assert!(format == Format::Bf16 || *same == c.to_vec(), "{dot:?}");
    }
    Ok(())
}

#[allow(clippy::needless_range_loop)] // j counts columns of c, with those between its rows
fn agrees_with_the_definition(
    case: &Case,
    w: &QuantizedMatrix,
    a: Mat,
    bias: &[f32],
    before: &[f32],
    c: &[f32],
) -> TestCaseResult {
    let Case { format, k, n, .. } = *case;
    let stride = n + case.gaps.1;
    let mut weights = vec![0.0; k];
    for j in 0..stride {
        if j < n {
            w.row(j, &mut weights);
        }
        for at in (j..c.len()).step_by(stride) {
            if j >= n {
                prop_assert!(c[at].to_bits() == before[at].to_bits(), "wrote between the rows");
                continue;
            }
            let x = a.row(at / stride);
            // The activations as the integer products see them, in the same f32 operations: int8
            // has a scale for each group, int4 one for the row.
            let scaled = if format == Format::Int8 { INT8_GROUP } else { k.max(1) };
            let seen = |i: usize| {
                let group = x.chunks(scaled).nth(i / scaled).unwrap_or_default();
                let largest = group.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                match format {
                    Format::Bf16 => f64::from(x[i]),
                    _ if largest == 0.0 => 0.0,
                    _ => {
                        let integer = (x[i] * (127.0 / largest)).round_ties_even();
                        f64::from(integer) * f64::from(largest / 127.0)
                    }
                }
            };
            let terms = weights.iter().enumerate();
            let sum: Exact =
                terms.map(|(i, w)| Exact::from(seen(i)) * Exact::from(*w)).sum::<Exact>();
            // bf16: a chain of k additions; int4 and int8: one addition per group.
            let additions = match format {
                Format::Bf16 => k,
                Format::Int4 => k / GROUP,
                Format::Int8 => k.div_ceil(INT8_GROUP),
            };
            near("c", at, c[at], sum + bias[j].into(), 4.0 + (additions as f64).sqrt())?;
        }
    }
    Ok(())
}

#[test]
fn a_quantized_product_is_the_sum_of_its_products_on_every_instruction_set() {
    check(200, cases(), property);
}

#[test]
fn a_row_has_the_same_bits_in_every_batch_and_with_every_number_of_threads() {
    let batches = (cases(), 1..20_usize, 1..5_usize);
    check(60, batches, |(case, first, threads)| {
        let Case { format, m, k, n, inputs, .. } = case;
        let w = QuantizedMatrix::quantize(format, &inputs.plain(1, n * k), (n, k)).unwrap();
        let a = inputs.plain(2, m * k);
        let product = |a: &[f32]| {
            let (m, mut c) = (a.len() / k, vec![f32::NAN; a.len() / k * n]);
            w.product_on_team(MatMut::new(&mut c, m, n), Mat::new(a, m, k), |_, _, _| {});
            c
        };
        let before = team::threads();
        let all = product(&a);
        team::set_threads(threads);
        let cut = first.min(m);
        let parts = [product(&a[..cut * k]), product(&a[cut * k..])].concat();
        team::set_threads(before);
        prop_assert!(parts == all, "{m} rows cut after {cut}, {threads} threads");
        Ok(())
    });
}
