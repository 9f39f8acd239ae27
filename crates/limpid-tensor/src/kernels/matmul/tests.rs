use super::*;
use crate::rng::Stream;

fn random(rng: &mut Stream, n: usize) -> Vec<f32> {
    (0..n).map(|_| rng.uniform() * 2.0 - 1.0).collect()
}

/// The definition, in f64.
fn naive(
    m: usize,
    k: usize,
    n: usize,
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
) -> Vec<f64> {
    let element = |i, j| (0..k).map(|p| f64::from(a(i, p)) * f64::from(b(p, j))).sum();
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

const SIZES: [usize; 7] = [1, 2, 3, 7, 17, 64, 131];

#[test]
fn product_agrees_with_the_definition_for_every_shape_transpose_and_accumulation() {
    let mut rng = Stream::new(1, 1);
    for m in SIZES {
        for k in SIZES {
            for n in SIZES {
                let (a, b, before) =
                    (random(&mut rng, m * k), random(&mut rng, k * n), random(&mut rng, m * n));
                for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
                    let left = if ta { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
                    let right = if tb { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
                    let want = naive(
                        m,
                        k,
                        n,
                        |i, p| if ta { a[p * m + i] } else { a[i * k + p] },
                        |p, j| if tb { b[j * k + p] } else { b[p * n + j] },
                    );
                    for accumulate in [Accumulate::Overwrite, Accumulate::Add] {
                        for team in [false, true] {
                            let mut c = match accumulate {
                                Accumulate::Overwrite => vec![f32::NAN; m * n],
                                Accumulate::Add => before.clone(),
                            };
                            let out = MatMut::new(&mut c, m, n);
                            if team {
                                product_on_team(out, left, right, accumulate, |_, _, part| {
                                    part.iter_mut().for_each(|c| *c *= 2.0)
                                });
                            } else {
                                product(out, left, right, 2.0, accumulate);
                            }
                            for (at, (c, want)) in c.iter().zip(&want).enumerate() {
                                let kept = match (accumulate, team) {
                                    (Accumulate::Overwrite, _) => 0.0,
                                    (Accumulate::Add, true) => 2.0 * f64::from(before[at]),
                                    (Accumulate::Add, false) => f64::from(before[at]),
                                };
                                let want = kept + 2.0 * want;
                                let bound = 1e-6 * (k as f64).sqrt() * 4.0 + 1e-6;
                                assert!(
                                    (f64::from(*c) - want).abs() < bound,
                                    "({m},{k})·({k},{n}) {ta} {tb} {accumulate:?}: \
                                     {c} is not {want}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rows_a_page_apart_are_packed_and_give_the_same_bits() {
    let (m, k, n) = (29, 40, 131);
    let mut rng = Stream::new(3, 1);
    let (wide, b) = (random(&mut rng, m * 1024), random(&mut rng, k * n));
    let close: Vec<f32> = wide.chunks(1024).flat_map(|row| &row[..k]).copied().collect();
    let results = [(&wide, 1024), (&close, k)].map(|(a, apart)| {
        let mut c = vec![0.0; m * n];
        let a = Mat::with_stride(a, m, k, apart);
        product(MatMut::new(&mut c, m, n), a, Mat::new(&b, k, n), 1.0, Accumulate::Overwrite);
        c
    });
    let want = naive(m, k, n, |i, p| close[i * k + p], |p, j| b[p * n + j]);
    results[0].iter().zip(&want).for_each(|(c, want)| assert!((f64::from(*c) - want).abs() < 1e-5));
    assert_eq!(results[0], results[1]);
}

#[test]
fn columns_of_a_wider_matrix_are_read_and_written_in_place() {
    let a: Vec<f32> = (0..12).map(|x| x as f32).collect();
    let mut c = vec![-1.0; 3 * 5];
    // Columns 1..3 of a (3,4), times the identity, into columns 2..4 of c (3,5).
    product(
        MatMut::with_stride(&mut c[2..], 3, 2, 5),
        Mat::with_stride(&a[1..], 3, 2, 4),
        Mat::new(&[1.0, 0.0, 0.0, 1.0], 2, 2),
        1.0,
        Accumulate::Overwrite,
    );
    assert_eq!(c, [-1., -1., 1., 2., -1., -1., -1., 5., 6., -1., -1., -1., 9., 10., -1.]);
}

#[test]
#[should_panic(expected = "product: (2,3)·(2,3) does not give (2,3)")]
fn shapes_that_do_not_fit_panic_and_name_both() {
    let a = [0.0; 6];
    product(
        MatMut::new(&mut [0.0; 6], 2, 3),
        Mat::new(&a, 2, 3),
        Mat::new(&a, 2, 3),
        1.0,
        Accumulate::Add,
    );
}
