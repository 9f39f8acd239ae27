//! Runs side by side: key figures, differences of the configurations, curves in one chart.

use super::figures::{Figure, REPEATED, figures, summary};
use super::html::{chart_grid, page, section, table};
use super::run::Run;
use super::{curves, escape};
use serde_json::{Map, Value, json};

/// A comparison of runs.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The names of the runs: of their folders, or the whole path where two are the same.
    pub names: Vec<String>,
    /// Figures and their value for each run.
    pub figures: Vec<(String, Vec<Option<Figure>>)>,
    /// Settings that differ between the runs, and their values.
    pub differences: Vec<(String, Vec<Option<String>>)>,
    charts: Vec<String>,
}

/// Compares runs.
pub fn compare(runs: &[Run]) -> Comparison {
    let names = names(runs);
    let settings: Vec<_> = runs.iter().map(|run| run.settings.clone()).collect();
    let mut differences = align(&settings);
    differences.retain(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1]));
    let both = |run: &Run| {
        let all = figures(run).into_iter().chain(summary(run));
        all.map(|figure| (figure.name.clone(), figure)).collect::<Vec<_>>()
    };
    let charts = curves::of_runs(runs, &names).iter().map(super::Chart::svg).collect();
    let figures = align(&runs.iter().map(both).collect::<Vec<_>>());
    Comparison { names, figures, differences, charts }
}

fn names(runs: &[Run]) -> Vec<String> {
    let unique = |run: &Run| runs.iter().filter(|other| other.name == run.name).count() == 1;
    let name =
        |run: &Run| if unique(run) { run.name.clone() } else { run.folder.display().to_string() };
    runs.iter().map(name).collect()
}

/// Lists of keys and values as rows, one per key, in order of first occurrence.
fn align<T: Clone>(lists: &[Vec<(String, T)>]) -> Vec<(String, Vec<Option<T>>)> {
    let mut rows: Vec<(String, Vec<Option<T>>)> = Vec::new();
    for (i, list) in lists.iter().enumerate() {
        for (key, value) in list {
            let at = rows.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
                rows.push((key.clone(), vec![None; lists.len()]));
                rows.len() - 1
            });
            rows[at].1[i] = Some(value.clone());
        }
    }
    rows
}

/// The cells of a row: its name, then each value as text.
fn cells<T>((name, values): &(String, Vec<Option<T>>), text: fn(&T) -> &String) -> Vec<String> {
    let cell = |value: &Option<T>| value.as_ref().map_or("–".to_string(), |v| text(v).clone());
    std::iter::once(name.clone()).chain(values.iter().map(cell)).collect()
}

impl Comparison {
    fn figure_rows(&self) -> Vec<Vec<String>> {
        let of = |name: &str| {
            self.figures.iter().find(|(known, _)| known == name).map(|(_, values)| values)
        };
        let is_repeated = |(name, values): &&(String, Vec<Option<Figure>>)| {
            let same = REPEATED.iter().find(|(key, _)| key == name).and_then(|(_, same)| of(same));
            // In every run that has it. They differ if another metric than the loss chose the best.
            let value = |figure: &Option<Figure>| figure.as_ref()?.value.as_f64();
            same.is_some_and(|same| {
                values.iter().zip(same).all(|(a, b)| a.is_none() || value(a) == value(b))
            })
        };
        let shown = self.figures.iter().filter(|row| !is_repeated(row));
        shown.map(|row| cells(row, |figure| &figure.shown)).collect()
    }

    fn difference_rows(&self) -> Vec<Vec<String>> {
        self.differences.iter().map(|row| cells(row, |value| value)).collect()
    }

    /// The names of the runs, as the head of a table.
    fn head(&self) -> Vec<String> {
        std::iter::once(String::new()).chain(self.names.iter().cloned()).collect()
    }

    /// One page, a single offline file.
    pub fn html(&self) -> String {
        let title = self.names.join(", ");
        let head = self.head();
        let mut body = format!("<h1>{} runs</h1>\n<p>{}</p>\n", self.names.len(), escape(&title));
        body += &section("Figures", &table("", &head, &self.figure_rows()));
        let differences = table("", &head, &self.difference_rows());
        body += &section("Differences of the configurations", &differences);
        body += &section("Curves", &chart_grid(&self.charts));
        page(&format!("{} runs: {title}", self.names.len()), &body)
    }

    /// A table for a terminal.
    pub fn text(&self) -> String {
        let mut rows = vec![self.head()];
        rows.extend(self.figure_rows());
        let figures = rows.len();
        rows.extend(self.difference_rows());
        let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..=self.names.len()).map(width).collect();
        let mut text = String::new();
        for (number, row) in rows.iter().enumerate() {
            if number == figures {
                text += "\n";
            }
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            text += cells.collect::<Vec<_>>().join("  ").trim_end();
            text += "\n";
        }
        if self.differences.is_empty() {
            text += "\nThe configurations are identical.\n";
        }
        text
    }

    /// The comparison as JSON.
    pub fn json(&self) -> Value {
        let run = |(i, name): (usize, &String)| {
            let mine = self.figures.iter().filter_map(|(_, all)| all[i].as_ref());
            let mine = mine.map(|figure| (figure.key.clone(), figure.value.clone()));
            json!({"name": name, "figures": mine.collect::<Map<_, _>>()})
        };
        let difference =
            |(key, values): &(String, Vec<Option<String>>)| json!({"key": key, "values": values});
        json!({
            "runs": self.names.iter().enumerate().map(run).collect::<Vec<_>>(),
            "differences": self.differences.iter().map(difference).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::{Metric, Train};
    use super::*;

    fn run(name: &str, loss: f64, settings: &[(&str, &str)]) -> Run {
        let settings =
            settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let train = Metric::Train(Train { step: 5, loss, ..Train::default() });
        Run {
            name: name.into(),
            folder: format!("runs/{name}").into(),
            metrics: vec![train],
            settings,
            ..Run::default()
        }
    }

    #[test]
    fn only_settings_that_differ_are_listed_and_a_missing_one_differs() {
        let a = run("a", 2.0, &[("seed", "1"), ("lr", "0.1"), ("old", "x")]);
        let b = run("b", 3.0, &[("seed", "1"), ("lr", "0.2")]);
        let differences = compare(&[a, b]).differences;
        let some = |text: &str| Some(text.to_string());
        assert_eq!(
            differences,
            [("lr".into(), vec![some("0.1"), some("0.2")]), ("old".into(), vec![some("x"), None])]
        );
    }

    #[test]
    fn the_text_is_a_table_with_a_column_for_each_run() {
        let text =
            compare(&[run("a", 2.0, &[("lr", "0.1")]), run("longer", 3.5, &[("lr", "0.2")])])
                .text();
        let expected = "                      a    longer\n\
                        steps                 5    5\n\
                        training loss (last)  2    3.5\n\
                        \n\
                        lr                    0.1  0.2\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn runs_of_one_name_are_told_apart_by_their_paths() {
        let mut other = run("a", 1.0, &[]);
        other.folder = "other/a".into();
        assert_eq!(compare(&[run("a", 2.0, &[]), other]).names, ["runs/a", "other/a"]);
    }

    #[test]
    fn the_page_overlays_the_curves_of_all_runs() {
        let page = compare(&[run("a", 2.0, &[]), run("b<", 3.0, &[])]).html();
        let chart = page.split("<title>Training loss</title>").nth(1).unwrap();
        assert!(chart.contains(">a</text>") && chart.contains(">b&lt;</text>"));
        assert!(!page.contains("differ</h2>"));
    }
}
