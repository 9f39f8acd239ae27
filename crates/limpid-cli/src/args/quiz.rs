//! `limpid quiz`

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
pub struct Quiz {
    /// Numbers of questions to ask, such as `3 18`; all of them without it
    #[arg(value_name = "NUMBER")]
    pub numbers: Vec<usize>,
    /// Another seed gives other numbers to compute with
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Show all answers, and ask nothing
    #[arg(long)]
    pub answers: bool,
    /// Machine-readable: what was asked, what was answered, what is right, and the score
    #[arg(long)]
    pub json: bool,
}
