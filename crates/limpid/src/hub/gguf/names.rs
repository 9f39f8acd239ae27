//! The tensors of a GGUF file: which rows of which parameter each holds, under which name.

use super::architecture::Architecture;
use std::ops::Range;

/// How the rows of a parameter are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOrder {
    /// As they are.
    Same,
    /// Of each head, the two rows that rotary positions turn together stand side by side, as
    /// llama.cpp's llama expects; here the first half of a head is turned with the second.
    Paired {
        /// Heads.
        heads: usize,
    },
}

/// A tensor of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub name: String,
    /// Rows of the parameter.
    pub rows: Range<usize>,
    pub order: RowOrder,
}

/// Modules of a stack and their names in GGUF files; `*` is the number of a layer.
const MODULES: [(&str, &str); 14] = [
    ("token_embedding", "token_embd"),
    ("position_embedding", "position_embd"),
    ("token_type_embedding", "token_types"),
    ("embedding_norm", "token_embd_norm"),
    ("layers.*.attention_norm", "blk.*.attn_norm"),
    ("layers.*.self_attention.qkv", "blk.*.attn_qkv"),
    ("layers.*.self_attention.q_norm", "blk.*.attn_q_norm"),
    ("layers.*.self_attention.k_norm", "blk.*.attn_k_norm"),
    ("layers.*.self_attention.out", "blk.*.attn_output"),
    ("layers.*.ffn_norm", "blk.*.ffn_norm"),
    ("layers.*.ffn.up", "blk.*.ffn_up"),
    ("layers.*.ffn.down", "blk.*.ffn_down"),
    ("final_norm", "output_norm"),
    ("output", "output"),
];

/// Heads of a model, and the rows of one.
pub(super) struct Heads {
    pub queries: usize,
    pub keys: usize,
    pub width: usize,
}

/// The tensors that hold a parameter of `rows` rows; none for a head that a file does not hold.
pub(super) fn parts(
    architecture: Architecture,
    heads: &Heads,
    param: &str,
    rows: usize,
) -> Vec<Part> {
    let Some((module, end)) = param.rsplit_once('.') else { return Vec::new() };
    let mut numbers = module.split('.').filter(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let layer = numbers.next().unwrap_or_default();
    let pattern = match layer {
        "" => module.to_string(),
        layer => module.replacen(&format!(".{layer}."), ".*.", 1),
    };
    let Some((_, name)) = MODULES.iter().find(|(known, _)| *known == pattern) else {
        return Vec::new();
    };
    let full = |name: &str| format!("{}.{end}", name.replace('*', layer));
    let whole = |name: &str| vec![Part { name: full(name), rows: 0..rows, order: RowOrder::Same }];
    match pattern.as_str() {
        "layers.*.self_attention.qkv" if !architecture.has_one_projection() => {
            let order = |heads| match architecture {
                Architecture::Llama => RowOrder::Paired { heads },
                _ => RowOrder::Same,
            };
            let (q, k) = (heads.queries * heads.width, heads.keys * heads.width);
            let part = |name: &str, rows, order| Part { name: full(name), rows, order };
            vec![
                part("blk.*.attn_q", 0..q, order(heads.queries)),
                part("blk.*.attn_k", q..q + k, order(heads.keys)),
                part("blk.*.attn_v", q + k..rows, RowOrder::Same),
            ]
        }
        // The gate stands before the other half.
        "layers.*.ffn.up" if architecture.is_gated() => {
            let part = |name: &str, rows| Part { name: full(name), rows, order: RowOrder::Same };
            vec![part("blk.*.ffn_gate", 0..rows / 2), part("blk.*.ffn_up", rows / 2..rows)]
        }
        "layers.*.attention_norm" if architecture == Architecture::Bert => {
            whole("blk.*.attn_output_norm")
        }
        "layers.*.ffn_norm" if architecture == Architecture::Bert => {
            whole("blk.*.layer_output_norm")
        }
        _ => whole(name),
    }
}

/// Rows of `width` numbers in the order of the file.
pub(super) fn ordered(values: Vec<f32>, order: RowOrder, width: usize) -> Vec<f32> {
    let RowOrder::Paired { heads } = order else { return values };
    let head = values.len() / width / heads;
    let row = |i: usize| {
        let (first, i) = (i / head * head, i % head);
        let at = (first + i % 2 * (head / 2) + i / 2) * width;
        &values[at..at + width]
    };
    (0..heads * head).flat_map(|i| row(i).iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_names_of_llama_cpp() {
        let heads = Heads { queries: 4, keys: 2, width: 8 };
        let names = |architecture, param: &str, rows| -> Vec<(String, Range<usize>)> {
            let parts = parts(architecture, &heads, param, rows);
            parts.into_iter().map(|part| (part.name, part.rows)).collect()
        };
        let qkv = "layers.11.self_attention.qkv.bias";
        assert_eq!(
            names(Architecture::Qwen2, qkv, 64),
            [
                ("blk.11.attn_q.bias".to_string(), 0..32),
                ("blk.11.attn_k.bias".to_string(), 32..48),
                ("blk.11.attn_v.bias".to_string(), 48..64)
            ]
        );
        assert_eq!(names(Architecture::Gpt2, qkv, 96), [("blk.11.attn_qkv.bias".into(), 0..96)]);
        assert_eq!(
            names(Architecture::Llama, "layers.0.ffn.up.weight", 10),
            [("blk.0.ffn_gate.weight".to_string(), 0..5), ("blk.0.ffn_up.weight".into(), 5..10)]
        );
        let norm = "layers.3.ffn_norm.weight";
        assert_eq!(names(Architecture::Gpt2, norm, 5)[0].0, "blk.3.ffn_norm.weight");
        assert_eq!(names(Architecture::Bert, norm, 5)[0].0, "blk.3.layer_output_norm.weight");
        assert_eq!(names(Architecture::Bert, "pooler.weight", 5), []);
        assert_eq!(names(Architecture::Phi2, "output.bias", 5), [("output.bias".into(), 0..5)]);
    }

    #[test]
    fn rows_that_are_turned_together_stand_side_by_side() {
        // Two heads of four rows of one number: 0 and 2 are turned together, 1 and 3.
        let values: Vec<f32> = (0..8).map(|i| i as f32).collect();
        let paired = ordered(values.clone(), RowOrder::Paired { heads: 2 }, 1);
        assert_eq!(paired, [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
        assert_eq!(ordered(values.clone(), RowOrder::Same, 1), values);
    }
}
