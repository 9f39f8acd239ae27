//! `[lora]`: adapters that are trained instead of the pretrained weights.

use super::section::{Keys, Section};
use super::settings::Settings;
use crate::error::Result;
use crate::hub::{ALL_LINEAR, AdapterConfig};

/// α unless set.
const ALPHA: f32 = 16.0;

/// The adapters to train, if `lora.rank` is set.
pub(super) fn read(settings: &mut Settings) -> Result<Option<AdapterConfig>> {
    let Some(rank) = settings.get("lora.rank")? else { return Ok(None) };
    let default = AdapterConfig::new(rank, ALPHA, vec![ALL_LINEAR.into()]);
    Section::read(default, settings).map(Some)
}

impl Section for AdapterConfig {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        keys.key("lora.rank", &mut self.r)?;
        keys.key("lora.alpha", &mut self.lora_alpha)?;
        keys.key("lora.targets", &mut self.target_modules)?;
        keys.key("lora.dropout", &mut self.lora_dropout)?;
        keys.key("lora.rslora", &mut self.use_rslora)?;
        keys.key("lora.modules_to_save", &mut self.modules_to_save)
    }
}
