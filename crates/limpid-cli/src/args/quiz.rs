//! `limpid quiz`

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
pub struct Quiz {
    /// Numbers of the questions, such as `3 18` [default: all]
    #[arg(value_name = "NUMBER")]
    pub numbers: Vec<usize>,
    /// Random seed of the numbers in exercises
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Print the questions with their answers
    #[arg(long)]
    pub answers: bool,
    /// Print JSON: questions, given answers, model answers and the score
    #[arg(long)]
    pub json: bool,
}
