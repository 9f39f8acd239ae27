//! The attention kernel against PyTorch's `scaled_dot_product_attention`: outputs and all three
//! gradients, computed there in f64, with values wider and narrower than keys, causal and full, in
//! several blocks, and with scores in the thousands.

use limpid_tensor::kernels::attention::{
    AttentionSpec, Causality, Heads, HeadsMut, Span, attention_backward, attention_forward,
};
use safetensors::SafeTensors;
use std::path::Path;

struct Cell<'a> {
    tensors: &'a SafeTensors<'a>,
    name: &'static str,
}

impl Cell<'_> {
    /// (h, n, d) as the file has it, turned into (n, h·d), where heads lie side by side.
    fn rows(&self, key: &str) -> (Vec<f32>, usize, usize, usize) {
        let view = self.tensors.tensor(&format!("{}.{key}", self.name)).unwrap();
        let [h, n, d] = *view.shape() else { panic!("{key}: three dimensions") };
        let flat: Vec<f32> =
            view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let rows =
            (0..n * h * d).map(|at| flat[(at / d % h * n + at / (h * d)) * d + at % d]).collect();
        (rows, h, n, d)
    }

    fn causality(&self) -> Causality {
        let view = self.tensors.tensor(&format!("{}.is_causal", self.name)).unwrap();
        if view.data()[0] == 1 { Causality::Causal } else { Causality::Full }
    }

    /// Within `bound` of the largest.
    #[track_caller]
    fn agrees(&self, key: &str, got: &[f32], bound: f32) {
        let (want, ..) = self.rows(key);
        let largest = want.iter().fold(1e-3_f32, |m, x| m.max(x.abs()));
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            assert!(
                (got - want).abs() <= bound * largest,
                "{}.{key}[{i}] is {got}, PyTorch has {want}",
                self.name
            );
        }
        assert_eq!(got.len(), want.len());
    }
}

#[test]
fn outputs_and_gradients_are_pytorchs_for_every_cell() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../reference/fixtures/attention-cells/expected.safetensors");
    let bytes = std::fs::read(path).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    for name in [
        "one",
        "causal",
        "causal_blocks",
        "causal_wide_values",
        "cross",
        "cross_blocks",
        "large_scores",
        "narrow_values",
        "wide_values",
    ] {
        let cell = Cell { tensors: &tensors, name };
        let ((q, h, t, d), (k, _, s, _), (v, _, _, dv)) =
            (cell.rows("q"), cell.rows("k"), cell.rows("v"));
        let (q_spans, k_spans) = ([Span { start: 0, len: t }], [Span { start: 0, len: s }]);
        let spec =
            AttentionSpec::new(h, 1.0 / (d as f32).sqrt(), cell.causality(), &q_spans, &k_spans);
        let (q_heads, k_heads, v_heads) =
            (Heads::new(&q, h, d), Heads::new(&k, h, d), Heads::new(&v, h, dv));
        let (mut z, mut lse) = (vec![f32::NAN; t * h * dv], vec![f32::NAN; t * h]);
        attention_forward(
            HeadsMut::new(&mut z, h * dv, 0, dv),
            &mut lse,
            q_heads,
            k_heads,
            v_heads,
            &spec,
        );
        // Scores in the thousands amplify the rounding of q and k themselves.
        let bound = if name == "large_scores" { 1e-3 } else { 1e-5 };
        cell.agrees("out", &z, bound);

        let (dz, ..) = cell.rows("dout");
        let (mut dq, mut dk, mut d_v) =
            (vec![f32::NAN; q.len()], vec![f32::NAN; k.len()], vec![f32::NAN; v.len()]);
        attention_backward(
            HeadsMut::new(&mut dq, h * d, 0, d),
            HeadsMut::new(&mut dk, h * d, 0, d),
            HeadsMut::new(&mut d_v, h * dv, 0, dv),
            &mut [],
            Heads::new(&dz, h, dv),
            Heads::new(&z, h, dv),
            &lse,
            q_heads,
            k_heads,
            v_heads,
            &spec,
        );
        [("dq", &dq), ("dk", &dk), ("dv", &d_v)]
            .iter()
            .for_each(|(key, got)| cell.agrees(key, got, bound));
    }
}
