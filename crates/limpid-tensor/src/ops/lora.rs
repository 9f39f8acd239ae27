//! Low-rank adapters of a linear layer: z[rows] += scale·(dropout(x)·Aᵀ)·Bᵀ (LoRA, Hu et al. 2021).
//!
//! Shapes: `x` (n, i), `a` (r, i), `b` (rows, r), `z` (n, o), of which the adapter changes the
//! columns `rows`. Saved for the backward pass: u = scale·dropout(x)·Aᵀ (n, r), and which mask.

use crate::kernels::dropout::{DropoutMask, dropout_in_place};
use crate::kernels::elementwise::scale_forward;
use crate::kernels::matmul::{Accumulate, Mat, MatMut, product_on_team};
use crate::params::{Adapter, ParamId};
use crate::tape::{BackwardPass, Tape};
use crate::tensor::Tensor;

/// What the backward pass of an adapter needs.
pub(super) struct SavedAdapter {
    adapter: Adapter,
    mask: Option<DropoutMask>,
    u: Tensor,
}

/// dropout(x), or x itself.
fn dropped(x: &Tensor, mask: Option<DropoutMask>) -> Tensor {
    let Some(mask) = mask else { return x.clone() };
    let mut copy = Tensor::new(x.shape(), x.data());
    dropout_in_place(copy.data_mut(), mask);
    copy
}

impl Tape<'_> {
    /// Adds the outputs of all adapters of `w` to z = x·Wᵀ + b.
    pub(super) fn add_adapters(
        &mut self,
        z: &mut Tensor,
        x: &Tensor,
        w: ParamId,
    ) -> Vec<SavedAdapter> {
        let ((n, i), (_, o)) = (x.rows_cols(), z.rows_cols());
        let mut saved = Vec::new();
        for adapter in self.adapters(w).to_vec() {
            let mask = (adapter.dropout > 0.0).then(|| self.next_mask()).flatten();
            let mask = mask.map(|(seed, stream)| DropoutMask { seed, stream, p: adapter.dropout });
            let input = dropped(x, mask);
            let (a, b) = (self.param(adapter.a), self.param(adapter.b));
            let (r, rows) = (a.len() / i.max(1), adapter.rows.len());
            let mut u = Tensor::uninit([n, r]);
            product_on_team(
                MatMut::new(u.data_mut(), n, r),
                Mat::new(input.data(), n, i),
                Mat::new(a, r, i).t(),
                Accumulate::Overwrite,
                |_, _, part| part.iter_mut().for_each(|u| *u *= adapter.scale),
            );
            if n > 0 {
                product_on_team(
                    MatMut::with_stride(&mut z.data_mut()[adapter.rows.start..], n, rows, o),
                    Mat::new(u.data(), n, r),
                    Mat::new(b, rows, r).t(),
                    Accumulate::Add,
                    |_, _, _| {},
                );
            }
            saved.push(SavedAdapter { adapter, mask, u });
        }
        saved
    }
}

impl SavedAdapter {
    /// Adds the gradients of A and B, and to dx (n, i) what comes through the adapter.
    pub(super) fn backward(
        self,
        dz: &Tensor,
        x: &Tensor,
        dx: Option<&mut Tensor>,
        pass: &mut BackwardPass,
    ) {
        let Self { adapter: Adapter { rows, a, b, scale, .. }, mask, u } = self;
        let ((n, i), (_, o), (_, r)) = (x.rows_cols(), dz.rows_cols(), u.rows_cols());
        if n == 0 {
            return;
        }
        let dz = Mat::with_stride(&dz.data()[rows.start..], n, rows.len(), o);
        // Forward: z[rows] += u·Bᵀ. So dB = dzᵀ·u and du = dz·B.
        if let Some((db, accumulate)) = pass.slot(b) {
            let (db, u) = (MatMut::new(db, rows.len(), r), Mat::new(u.data(), n, r));
            product_on_team(db, dz.t(), u, accumulate, |_, _, _| {});
        }
        // Forward: u = scale·v, v = dropout(x)·Aᵀ. So dv = scale·du, dA = dvᵀ·dropout(x) and
        // dx += dropout(dv·A), with the same mask.
        let mut du = Tensor::uninit([n, r]);
        let b = Mat::new(pass.param(b), rows.len(), r);
        product_on_team(
            MatMut::new(du.data_mut(), n, r),
            dz,
            b,
            Accumulate::Overwrite,
            |_, _, _| {},
        );
        let mut dv = Tensor::uninit([n, r]);
        scale_forward(dv.data_mut(), du.data(), scale);
        let dv = Mat::new(dv.data(), n, r);
        if let Some((da, accumulate)) = pass.slot(a) {
            let input = dropped(x, mask);
            let input = Mat::new(input.data(), n, i);
            product_on_team(MatMut::new(da, r, i), dv.t(), input, accumulate, |_, _, _| {});
        }
        let Some(dx) = dx else { return };
        let a = Mat::new(pass.param(a), r, i);
        match mask {
            None => {
                let dx = MatMut::new(dx.data_mut(), n, i);
                product_on_team(dx, dv, a, Accumulate::Add, |_, _, _| {});
            }
            Some(mask) => {
                let mut through = Tensor::uninit([n, i]);
                let to = MatMut::new(through.data_mut(), n, i);
                product_on_team(to, dv, a, Accumulate::Overwrite, |_, _, _| {});
                dropout_in_place(through.data_mut(), mask);
                crate::kernels::elementwise::add_assign(dx.data_mut(), through.data());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::kernels::activation::Activation;
    use crate::params::{AdapterSpec, Init, Params, Role};
    use crate::tape::{DropoutStream, Var};

    /// W (6, 5) with adapters of its first two and its last three rows, all random.
    fn adapted(dropout: f32) -> (Params, ParamId, ParamId) {
        let mut builder = Params::builder();
        let w = builder.add("w", [6, 5], Init::Normal(0.5));
        let bias = builder.add("bias", [6], Init::Normal(0.5));
        let mut params = builder.build(3);
        let spec = |rows, rank, name: &str| AdapterSpec {
            weight: w,
            rows,
            names: [format!("{name}.a"), format!("{name}.b")],
            rank,
            scale: 0.75,
            dropout,
        };
        params.add_adapters(&[spec(0..2, 2, "q"), spec(3..6, 1, "v")], 4);
        let b: Vec<ParamId> = params.all_adapters().map(|(_, adapter)| adapter.b).collect();
        for (k, id) in b.into_iter().enumerate() {
            assert!(params.get(id).iter().all(|x| *x == 0.0), "B starts at 0");
            let values = random_tensor([params.get(id).len()]);
            params.get_mut(id).copy_from_slice(values.data());
            params.get_mut(id)[0] += k as f32;
        }
        (params, w, bias)
    }

    #[test]
    fn an_adapted_layer_is_the_layer_of_the_merged_weight() {
        let (params, w, bias) = adapted(0.3);
        let x = random_tensor([4, 5]);
        let mut merged = params.get(w).to_vec();
        for (_, adapter) in params.all_adapters() {
            let (a, b) = (params.get(adapter.a), params.get(adapter.b));
            let r = a.len() / 5;
            for (k, row) in adapter.rows.clone().enumerate() {
                for j in 0..5 {
                    let sum: f32 = (0..r).map(|s| b[k * r + s] * a[s * 5 + j]).sum();
                    merged[row * 5 + j] += 0.75 * sum;
                }
            }
        }
        // Without a dropout stream nothing is dropped.
        for phi in [Activation::None, Activation::Gelu, Activation::Relu] {
            let got =
                Tape::inference(&params).linear(&Var::constant(x.clone()), w, Some(bias), phi);
            let mut builder = Params::builder();
            let plain = builder.add("w", [6, 5], Init::Zeros);
            let other = builder.add("bias", [6], Init::Zeros);
            let mut plain_params = builder.build(0);
            plain_params.get_mut(plain).copy_from_slice(&merged);
            plain_params.get_mut(other).copy_from_slice(params.get(bias));
            let want = Tape::inference(&plain_params).linear(
                &Var::constant(x.clone()),
                plain,
                Some(other),
                phi,
            );
            for (got, want) in got.data().iter().zip(want.data()) {
                assert!((got - want).abs() < 1e-5, "{got} is not {want}");
            }
        }
    }

    #[test]
    fn gradients_of_a_b_and_x_agree_with_central_differences() {
        for (phi, dropout) in
            [(Activation::None, 0.0), (Activation::Gelu, 0.0), (Activation::Tanh, 0.4)]
        {
            let (params, w, bias) = adapted(dropout);
            GradCheck::new(params)
                .input(random_tensor([4, 5]))
                .dropout(DropoutStream { seed: 5, pass: 1 })
                .assert(|t, x| t.linear(&x[0], w, Some(bias), phi));
        }
    }

    #[test]
    fn with_a_frozen_weight_only_the_adapter_and_x_have_gradients() {
        let (mut params, w, bias) = adapted(0.0);
        params.set_roles(|spec| match spec.name.as_str() {
            "w" | "bias" => Role::Fixed,
            _ => Role::Trained,
        });
        let a = params.adapters(w)[1].a;
        let mut gradients = crate::tape::Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients);
        let x = tape.leaf(random_tensor([4, 5]));
        let y = tape.linear(&x, w, Some(bias), Activation::None);
        let loss = tape.weighted_sum(&y, &random_tensor([4, 6]));
        tape.backward(&loss);
        assert!(gradients.get(&params, w).is_none() && gradients.get(&params, bias).is_none());
        assert!(gradients.get(&params, a).is_some_and(|da| da.iter().any(|x| *x != 0.0)));
        assert!(gradients.of(x.id().unwrap()).is_some());
    }
}
