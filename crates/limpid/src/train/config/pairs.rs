//! Where sentence pairs are: two files side by side, or two columns of one.

use super::{DataConfig, RunConfig, TaskKind};
use crate::data::parallel::{Pairs, pair_table, parallel};
use crate::data::table::{Column, Header, TableFormat};
use crate::error::{Error, Result};
use crate::text::Text;
use std::path::{Path, PathBuf};

/// Pairs on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairFiles {
    /// Line n of the second translates line n of the first.
    Parallel(PathBuf, PathBuf),
    /// A TSV, CSV or JSON Lines file.
    Table {
        /// The file.
        path: PathBuf,
        /// How it is written.
        format: TableFormat,
        /// Whether its first line names the columns.
        header: Header,
        /// The column of sentences.
        source: Column,
        /// The column of their translations.
        target: Column,
    },
}

impl PairFiles {
    /// All pairs, in order, one at a time.
    pub fn pairs(&self) -> Result<Pairs> {
        match self {
            PairFiles::Parallel(source, target) => Ok(parallel(Text::open(source)?, Text::open(target)?)),
            PairFiles::Table { path, format, header, source, target } => {
                pair_table(path, (*format, *header), source, target)
            }
        }
    }

    /// The files.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            PairFiles::Parallel(source, target) => vec![source.clone(), target.clone()],
            PairFiles::Table { path, .. } => vec![path.clone()],
        }
    }

    /// The file of the source and that of the target.
    pub fn sides(&self) -> [&Path; 2] {
        match self {
            PairFiles::Parallel(source, target) => [source, target],
            PairFiles::Table { path, .. } => [path, path],
        }
    }

    /// How they are read, in words.
    pub(in crate::train) fn how(&self) -> String {
        match self {
            PairFiles::Parallel(..) => "parallel lines".into(),
            PairFiles::Table { format, header, source, target, .. } => {
                format!("{format:?} table, header {header:?}, columns {source:?} and {target:?}")
            }
        }
    }
}

impl RunConfig {
    /// The pairs to learn from. Call it after `validate`.
    pub fn pairs(&self) -> PairFiles {
        let DataConfig { source, target, pairs, .. } = &self.data;
        self.pair_files(source, target, pairs).expect("validated")
    }

    /// The files that hold what is learnt from.
    pub fn learnt_from(&self) -> Vec<PathBuf> {
        match self.task {
            TaskKind::Translate => {
                let DataConfig { source, target, pairs, .. } = &self.data;
                self.pair_files(source, target, pairs).map_or(Vec::new(), |pairs| pairs.files())
            }
            TaskKind::Gpt | TaskKind::Bert | TaskKind::Classify => self.data.text.clone(),
        }
    }

    /// The files of their own for validation.
    fn kept_files(&self) -> Vec<PathBuf> {
        match self.task {
            TaskKind::Translate => self.validation_pairs().map_or(Vec::new(), |pairs| pairs.files()),
            TaskKind::Gpt | TaskKind::Bert | TaskKind::Classify => self.data.validation_text.clone(),
        }
    }

    /// All files that become tokens before the training.
    pub fn tokenized(&self) -> Vec<PathBuf> {
        [self.learnt_from(), self.kept_files()].concat()
    }

    /// A file that is learnt from and kept for validation as well, if there is one.
    pub fn validated_on_what_is_learnt(&self) -> Option<PathBuf> {
        let place = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let learnt: Vec<PathBuf> = self.learnt_from().iter().map(place).collect();
        self.kept_files().into_iter().find(|path| learnt.contains(&place(path)))
    }

    /// The pairs kept for validation, if they are in files of their own.
    pub fn validation_pairs(&self) -> Option<PairFiles> {
        let DataConfig { validation_source, validation_target, validation_pairs, .. } = &self.data;
        self.pair_files(validation_source, validation_target, validation_pairs)
    }

    /// The pairs on which a translator is judged at the end.
    pub fn test_pairs(&self) -> Option<PairFiles> {
        let DataConfig { test_source, test_target, test_pairs, .. } = &self.data;
        self.pair_files(test_source, test_target, test_pairs)
    }

    /// Pairs in another table, written as those of this run are.
    pub fn pairs_in(&self, table: &Path) -> Result<PairFiles> {
        self.pair_format(table)?;
        Ok(self.pair_table(table))
    }

    fn pair_files(
        &self,
        source: &Option<PathBuf>,
        target: &Option<PathBuf>,
        table: &Option<PathBuf>,
    ) -> Option<PairFiles> {
        match (source, target, table) {
            (_, _, Some(path)) => Some(self.pair_table(path)),
            (Some(source), Some(target), None) => Some(PairFiles::Parallel(source.clone(), target.clone())),
            _ => None,
        }
    }

    /// How a table of pairs is written: as the settings say, or as its name does.
    fn pair_format(&self, path: &Path) -> Result<TableFormat> {
        match self.table.format.as_deref().map(TableFormat::from_name).transpose()? {
            Some(TableFormat::LabelFirst) => {
                Err(Error::config("label-first is a way to write labelled texts")
                    .hint("for pairs: tsv, csv or jsonl"))
            }
            Some(format) => Ok(format),
            None => TableFormat::of(path)
                .map_err(|e| e.hint("name it .tsv, .csv or .jsonl, or say it with --format tsv")),
        }
    }

    fn pair_table(&self, path: &Path) -> PairFiles {
        let format = self.pair_format(path).expect("validated");
        let keyed = format == TableFormat::JsonLines;
        let column = |said: &Option<String>, key: &str, number: usize| match said {
            Some(text) => Column::parse(text),
            None if keyed => Column::Name(key.into()),
            None => Column::Number(number),
        };
        let source = column(&self.data.source_column, "source", 1);
        let target = column(&self.data.target_column, "target", 2);
        // Whoever names a column says that the first line has names.
        let named = matches!(source, Column::Name(_)) || matches!(target, Column::Name(_));
        let header = if named || self.data.header { Header::First } else { Header::Missing };
        PairFiles::Table { path: path.to_path_buf(), format, header, source, target }
    }

    /// Refuses files of another task: they would be without effect.
    pub(super) fn check_files(&self) -> Result<()> {
        let data = &self.data;
        let texts = [("text", !data.text.is_empty()), ("validation_text", !data.validation_text.is_empty())];
        let pairs = [
            ("source", data.source.is_some()),
            ("target", data.target.is_some()),
            ("pairs", data.pairs.is_some()),
            ("validation_source", data.validation_source.is_some()),
            ("validation_target", data.validation_target.is_some()),
            ("validation_pairs", data.validation_pairs.is_some()),
            ("test_source", data.test_source.is_some()),
            ("test_target", data.test_target.is_some()),
            ("test_pairs", data.test_pairs.is_some()),
        ];
        let (foreign, own) = match self.task {
            TaskKind::Translate => (&texts[..], "data.source, data.target or data.pairs"),
            TaskKind::Gpt | TaskKind::Bert | TaskKind::Classify => {
                (&pairs[..], "data.text and data.validation_text")
            }
        };
        match foreign.iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(Error::config(format!("data.{key} is for another task"))
                .hint(format!("the files of this one are {own}, and their like"))),
            None => Ok(()),
        }
    }

    /// Refuses pairs that are half there, or there twice.
    pub(super) fn check_pairs(&self) -> Result<()> {
        let data = &self.data;
        let all = [
            ("", &data.source, &data.target, &data.pairs),
            ("validation_", &data.validation_source, &data.validation_target, &data.validation_pairs),
            ("test_", &data.test_source, &data.test_target, &data.test_pairs),
        ];
        for (prefix, source, target, pairs) in all {
            let keys = format!("data.{prefix}source and data.{prefix}target");
            match (source, target, pairs) {
                (None, None, None) if prefix.is_empty() => {
                    return Err(Error::config(
                        "translation needs a file of sentences and one of their translations",
                    )
                    .hint("--source a.fr --target a.en, or --pairs a.tsv"));
                }
                (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                    return Err(Error::config(format!("{keys} are given, and data.{prefix}pairs as well"))
                        .hint("give two files, or one with two columns"));
                }
                (Some(_), None, None) | (None, Some(_), None) => {
                    return Err(Error::config(format!(
                        "of {keys} only one is given: translations come in two files"
                    ))
                    .hint(format!("give both, or data.{prefix}pairs with two columns")));
                }
                _ => {}
            }
            if let Some(path) = pairs {
                self.pair_format(path)?;
            }
        }
        Ok(())
    }
}
