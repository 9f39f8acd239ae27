//! What a model is that a configuration could also say: taken over where nothing was said, refused where something else was.

use crate::config::{
    Directions, NormPlacement, Variant, activation_from_name, activation_name, cell_name, rnn_attention_name,
};
use crate::error::{Error, Result};
use crate::hub::AnyConfig;
use crate::train::config::ModelConfig;
use std::path::Path;

/// The settings of a model, of both sides where there are two.
pub(super) struct Own {
    layers: [usize; 2],
    heads: Option<[usize; 2]>,
    width: usize,
    ffn: Option<[usize; 2]>,
    /// How many positions there are, where that is a limit.
    pub(super) longest: Option<usize>,
    /// Other settings: the key and its value; missing are those that the family does not have.
    named: Vec<(&'static str, String)>,
}

impl Own {
    pub(super) fn of(there: &AnyConfig) -> Self {
        match there {
            AnyConfig::Gpt(c) => Self {
                layers: [c.n_layer; 2],
                heads: Some([c.n_head; 2]),
                width: c.n_embd,
                ffn: Some([c.n_inner; 2]),
                longest: Some(c.n_positions),
                named: transformer(activation_name(c.activation_function), c.norm, &c.variant),
            },
            AnyConfig::Seq2Seq(c) => Self {
                layers: [c.encoder_layers, c.decoder_layers],
                heads: Some([c.encoder_attention_heads, c.decoder_attention_heads]),
                width: c.d_model,
                ffn: Some([c.encoder_ffn_dim, c.decoder_ffn_dim]),
                longest: Some(c.max_position_embeddings),
                named: {
                    let mut named = transformer(activation_name(c.activation_function), c.norm, &c.variant);
                    // Only translators come in two kinds.
                    named.push(("arch", "transformer".into()));
                    named
                },
            },
            AnyConfig::Bert(c) => Self {
                layers: [c.num_hidden_layers; 2],
                heads: Some([c.num_attention_heads; 2]),
                width: c.hidden_size,
                ffn: Some([c.intermediate_size; 2]),
                longest: Some(c.max_position_embeddings),
                // Of the variants there is none that a BERT could have; the others are refused elsewhere.
                named: vec![("activation", activation_name(c.hidden_act).into()), ("norm", "post".into())],
            },
            AnyConfig::Rnn(c) => Self {
                layers: [c.num_layers; 2],
                heads: None,
                width: c.hidden_size,
                ffn: None,
                longest: None,
                named: vec![
                    ("arch", "rnn".into()),
                    ("cell", cell_name(c.cell).into()),
                    ("attention", rnn_attention_name(c.attention).into()),
                    ("bidirectional", (c.directions == Directions::Both).to_string()),
                    ("embedding", c.embedding_size.to_string()),
                ],
            },
        }
    }

    /// Refuses what was asked for and is not so.
    pub(super) fn check(
        &self,
        model: &ModelConfig,
        usual: &ModelConfig,
        is_said: impl Fn(&str) -> bool,
        folder: &Path,
    ) -> Result<()> {
        let refuse = |key: &str, asked: &str, own: &str| {
            let folder = folder.display();
            Err(Error::config(format!("model.{key} = {asked}, but the model in {folder} has {own}"))
                .hint(format!("leave out model.{key}: it is that of the model one begins with")))
        };
        let sizes = [
            ("layers", Some(model.layers), Some(usual.layers), Some(self.layers)),
            ("heads", Some(model.heads), Some(usual.heads), self.heads),
            ("width", Some(model.width), Some(usual.width), Some([self.width; 2])),
            ("ffn", model.ffn, usual.ffn, self.ffn),
        ];
        for (key, asked, usual, own) in sizes {
            if let (Some(asked), Some(own)) = (asked.filter(|_| asked != usual || is_said(key)), own)
                && !own.contains(&asked)
            {
                let [first, second] = own.map(|n| n.to_string());
                let both = if first == second { first } else { format!("{first} and {second}") };
                return refuse(key, &asked.to_string(), &both);
            }
        }
        for (key, own) in &self.named {
            match asked(model, key)? {
                Some(asked) if asked != *own => return refuse(key, &asked, own),
                _ => {}
            }
        }
        Ok(())
    }

    /// Says in a configuration what the model is. What a configuration leaves open (`norm`, `cell` and so on) is read from the model when it
    /// is built.
    pub(super) fn adopt(&self, model: &mut ModelConfig) {
        model.layers = self.layers[0].max(self.layers[1]);
        model.width = self.width;
        if let (Some(heads), Some(ffn)) = (self.heads, self.ffn) {
            model.heads = heads[0].max(heads[1]);
            model.ffn = Some(ffn[0].max(ffn[1]));
        }
        for (key, own) in &self.named {
            match *key {
                "activation" => model.activation = Some(own.clone()),
                "arch" => model.arch = Some(own.clone()),
                _ => {}
            }
        }
    }
}

fn transformer(activation: &str, norm: NormPlacement, variant: &Variant) -> Vec<(&'static str, String)> {
    let norm = match norm {
        NormPlacement::Pre => "pre",
        NormPlacement::Post => "post",
    };
    vec![
        ("activation", activation.into()),
        ("norm", norm.into()),
        ("positions", variant.positions.name().into()),
        ("normalisation", variant.normalisation.name().into()),
        ("residual", variant.residual.name().into()),
        ("scaling", variant.scaling.name().into()),
    ]
}

/// What a configuration says under a key, if anything.
fn asked(model: &ModelConfig, key: &str) -> Result<Option<String>> {
    Ok(match key {
        // One of them has several names.
        "activation" => model
            .activation
            .as_deref()
            .map(activation_from_name)
            .transpose()?
            .map(|a| activation_name(a).into()),
        "norm" => model.norm.clone(),
        "arch" => model.arch.clone(),
        "positions" => model.positions.clone(),
        "normalisation" => model.normalisation.clone(),
        "residual" => model.residual.clone(),
        "scaling" => model.scaling.clone(),
        "cell" => model.cell.clone(),
        "attention" => model.attention.clone(),
        "bidirectional" => model.bidirectional.map(|both| both.to_string()),
        "embedding" => model.embedding.map(|width| width.to_string()),
        _ => unreachable!("every key of a model is here"),
    })
}
