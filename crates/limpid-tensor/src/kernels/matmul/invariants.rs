//! Invariants at every instruction-set level: the definition, the bits, the bounds, `finish`.

use super::*;
use crate::rng::Stream;
use std::sync::atomic::{AtomicU32, Ordering};

/// Which of the operands is stored transposed.
#[derive(Clone, Copy, Debug)]
enum Form {
    Nn,
    Nt,
    Tn,
    Tt,
}
const FORMS: [Form; 4] = [Form::Nn, Form::Nt, Form::Tn, Form::Tt];

/// On which threads a product runs.
#[derive(Clone, Copy, Debug)]
enum Executor {
    Thread,
    Team,
}

const GAP: usize = 3;
const GUARD: f32 = 12_345.0;

/// A matrix surrounded by NaN, also between its rows.
struct Poisoned {
    data: Vec<f32>,
    rows: usize,
    cols: usize,
}

impl Poisoned {
    fn random(rng: &mut Stream, rows: usize, cols: usize) -> Self {
        let mut data = vec![f32::NAN; 64 + rows * (cols + GAP) + 64];
        for i in 0..rows {
            data[64 + i * (cols + GAP)..][..cols]
                .iter_mut()
                .for_each(|x| *x = rng.uniform() * 2.0 - 1.0);
        }
        Self { data, rows, cols }
    }

    /// The slice ends with the last element.
    fn mat(&self) -> Mat<'_> {
        let end = 64 + self.rows * (self.cols + GAP) - GAP.min(self.rows * GAP);
        Mat::with_stride(&self.data[64..end], self.rows, self.cols, self.cols + GAP)
    }
}

/// The two operands of a product.
struct Operands {
    a: Poisoned,
    b: Poisoned,
    form: Form,
}

impl Operands {
    fn random(rng: &mut Stream, (m, k, n): (usize, usize, usize), form: Form) -> Self {
        let (a, b) = match form {
            Form::Nn => ((m, k), (k, n)),
            Form::Nt => ((m, k), (n, k)),
            Form::Tn => ((k, m), (k, n)),
            Form::Tt => ((k, m), (n, k)),
        };
        Self { a: Poisoned::random(rng, a.0, a.1), b: Poisoned::random(rng, b.0, b.1), form }
    }

    fn mats(&self) -> (Mat<'_>, Mat<'_>) {
        let (a, b) = (self.a.mat(), self.b.mat());
        match self.form {
            Form::Nn => (a, b),
            Form::Nt => (a, b.t()),
            Form::Tn => (a.t(), b),
            Form::Tt => (a.t(), b.t()),
        }
    }
}

fn element(mat: Mat, i: usize, j: usize) -> f32 {
    mat.data[i * mat.row_stride + j * mat.col_stride]
}

/// Rows `rows` of a matrix.
fn some_rows(mat: Mat<'_>, rows: Range<usize>) -> Mat<'_> {
    Mat { data: &mat.data[rows.start * mat.row_stride..], rows: rows.len(), ..mat }
}

fn run(level: Level, executor: Executor, c: MatMut, a: Mat, b: Mat, accumulate: Accumulate) {
    check_shapes((c.rows, c.cols), a, b);
    match executor {
        Executor::Thread => on_this_thread(&Product::new(level, c, a, b, 1.0, accumulate, None)),
        Executor::Team => {
            on_team(&Product::new(level, c, a, b, 1.0, accumulate, Some(&|_, _, _| {})))
        }
    }
}

fn result(level: Level, executor: Executor, a: Mat, b: Mat) -> Vec<f32> {
    let mut c = vec![f32::NAN; a.rows * b.cols];
    run(level, executor, MatMut::new(&mut c, a.rows, b.cols), a, b, Accumulate::Overwrite);
    c
}

fn bits(c: &[f32]) -> Vec<u32> {
    c.iter().map(|c| c.to_bits()).collect()
}

const SHAPES: [(usize, usize, usize); 24] = [
    (1, 1, 1),
    (1, 7, 5),
    (1, 769, 131),
    (2, 64, 33),
    (3, 385, 17),
    (4, 8, 600),
    (4, 1000, 24),
    (5, 3, 31),
    (6, 16, 16),
    (7, 384, 47),
    (11, 13, 97),
    (12, 32, 32),
    (13, 400, 65),
    (24, 32, 24),
    (25, 770, 9),
    (64, 64, 64),
    (97, 131, 101),
    (130, 17, 1),
    (1, 1, 130),
    (40, 200, 1100),
    (200, 40, 530),
    (300, 90, 33),
    (64, 1200, 70),
    (2, 300, 2000),
];

#[test]
fn every_level_agrees_with_the_definition_and_touches_nothing_else() {
    let mut rng = Stream::new(2, 1);
    for (m, k, n) in SHAPES {
        for form in FORMS {
            let operands = Operands::random(&mut rng, (m, k, n), form);
            let (a, b) = operands.mats();
            let exact = |i, j| {
                (0..k)
                    .map(|p| f64::from(element(a, i, p)) * f64::from(element(b, p, j)))
                    .sum::<f64>()
            };
            let want: Vec<f64> = (0..m * n).map(|at| exact(at / n, at % n)).collect();
            for level in Level::available() {
                for (executor, accumulate) in [
                    (Executor::Thread, Accumulate::Overwrite),
                    (Executor::Thread, Accumulate::Add),
                    (Executor::Team, Accumulate::Overwrite),
                    (Executor::Team, Accumulate::Add),
                ] {
                    let (stride, before) =
                        (n + 5, if accumulate == Accumulate::Add { 0.5 } else { f32::NAN });
                    let mut c = vec![GUARD; 40 + m * stride + 40];
                    (0..m).for_each(|i| c[40 + i * stride..][..n].fill(before));
                    let out = MatMut::with_stride(&mut c[40..40 + m * stride], m, n, stride);
                    run(level, executor, out, a, b, accumulate);
                    for (at, c) in c.iter().enumerate() {
                        let inside = (at >= 40 && at < 40 + m * stride)
                            .then(|| ((at - 40) / stride, (at - 40) % stride));
                        let Some((i, j)) = inside.filter(|(_, j)| *j < n) else {
                            assert_eq!(
                                *c, GUARD,
                                "{level:?} {executor:?} {form:?} ({m},{k},{n}): wrote to {at}"
                            );
                            continue;
                        };
                        let want =
                            want[i * n + j] + if accumulate == Accumulate::Add { 0.5 } else { 0.0 };
                        let error = (f64::from(*c) - want).abs();
                        assert!(
                            error < 1e-7 * k as f64 + 1e-6,
                            "{level:?} {executor:?} {form:?} {accumulate:?} ({m},{k},{n}) \
                             [{i}][{j}]: {c} is not {want}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_threads_or_on_other_rows_and_columns() {
    let mut rng = Stream::new(2, 2);
    let mut between =
        |low: usize, high: usize| low + (rng.uniform() * (high - low) as f32) as usize;
    let mut data = Stream::new(2, 3);
    for round in 0..60 {
        let (m, k, n) =
            (between(1, 150), between(1, 900), between(1, if round % 4 == 0 { 1500 } else { 150 }));
        let form = FORMS[round % 4];
        let operands = Operands::random(&mut data, (m, k, n), form);
        let (a, b) = operands.mats();
        for level in Level::available() {
            let whole = bits(&result(level, Executor::Thread, a, b));
            for threads in [1, 2, 3, 4] {
                team::set_threads(threads);
                let same = bits(&result(level, Executor::Team, a, b)) == whole;
                assert!(same, "{level:?} {form:?} ({m},{k},{n}), {threads} threads");
            }
            team::set_threads(2);
            for height in [1, 2, 3, 4, 5, 13, 50] {
                let first = between(0, m);
                let rows = first..m.min(first + height);
                let part = bits(&result(level, Executor::Thread, some_rows(a, rows.clone()), b));
                assert!(
                    part == whole[rows.start * n..rows.end * n],
                    "{level:?} {form:?} ({m},{k},{n}) rows {rows:?}"
                );
                let first = between(0, n);
                let cols = first..n.min(first + 7 * height);
                let part =
                    bits(&result(level, Executor::Thread, a, some_rows(b.t(), cols.clone()).t()));
                let want: Vec<u32> =
                    whole.chunks(n).flat_map(|row| &row[cols.clone()]).copied().collect();
                assert!(part == want, "{level:?} {form:?} ({m},{k},{n}) columns {cols:?}");
            }
        }
    }
}

#[test]
fn finish_sees_every_element_once_and_final() {
    let mut rng = Stream::new(2, 4);
    // The last two are packed in several parts: of k's, and of columns.
    let shapes = [
        (3, 5, 7),
        (1, 800, 3000),
        (50, 100, 2000),
        (300, 500, 300),
        (200, 6000, 800),
        (200, 300, 12_000),
    ];
    for (m, k, n) in shapes {
        let operands = Operands::random(&mut rng, (m, k, n), Form::Nt);
        let (a, b) = operands.mats();
        for level in Level::available() {
            let want = result(level, Executor::Thread, a, b);
            let seen: Vec<AtomicU32> = (0..m * n).map(|_| AtomicU32::new(0)).collect();
            let mut c = vec![f32::NAN; m * n];
            let finish = |row: usize, first: usize, part: &mut [f32]| {
                for (j, c) in (first..).zip(part) {
                    seen[row * n + j].fetch_add(1, Ordering::Relaxed);
                    assert_eq!(*c, want[row * n + j], "{level:?} ({m},{k},{n}) [{row}][{j}]");
                    *c = -*c;
                }
            };
            let out = MatMut::new(&mut c, m, n);
            on_team(&Product::new(level, out, a, b, 1.0, Accumulate::Overwrite, Some(&finish)));
            assert!(seen.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{level:?} ({m},{k},{n})");
            assert!(c.iter().zip(&want).all(|(c, want)| *c == -want));
        }
    }
}

#[test]
fn an_empty_sum_is_zero_and_an_empty_matrix_is_legal() {
    for level in Level::available() {
        for executor in [Executor::Thread, Executor::Team] {
            let nothing = Mat::new(&[], 3, 0);
            let mut c = [f32::NAN; 12];
            run(
                level,
                executor,
                MatMut::new(&mut c, 3, 4),
                nothing,
                Mat::new(&[], 0, 4),
                Accumulate::Overwrite,
            );
            assert_eq!(c, [0.0; 12]);
            let mut c = [2.0; 12];
            run(
                level,
                executor,
                MatMut::new(&mut c, 3, 4),
                nothing,
                Mat::new(&[], 0, 4),
                Accumulate::Add,
            );
            assert_eq!(c, [2.0; 12]);
            run(
                level,
                executor,
                MatMut::new(&mut [], 0, 4),
                Mat::new(&[], 0, 1),
                Mat::new(&[1.0; 4], 1, 4),
                Accumulate::Add,
            );
            run(
                level,
                executor,
                MatMut::new(&mut [], 3, 0),
                Mat::new(&[1.0; 3], 3, 1),
                Mat::new(&[], 1, 0),
                Accumulate::Add,
            );
        }
    }
}

#[test]
fn a_product_inside_the_finish_of_another_changes_neither() {
    let mut rng = Stream::new(2, 5);
    let operands = Operands::random(&mut rng, (100, 300, 200), Form::Nt);
    let (a, b) = operands.mats();
    let want = result(level(), Executor::Thread, a, b);
    let mut c = vec![0.0; 100 * 200];
    product_on_team(MatMut::new(&mut c, 100, 200), a, b, Accumulate::Overwrite, |row, _, _| {
        if row % 10 == 0 {
            assert!(result(level(), Executor::Thread, a, b) == want);
        }
    });
    assert!(c == want);
}
