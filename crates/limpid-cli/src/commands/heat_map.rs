//! Attention weights as shades in a terminal.

/// Draws weights as shades: a row for each target token, a column for each source token.
pub fn heat_map(rows: &[String], columns: &[String], weights: &[Vec<f32>]) -> String {
    const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];
    let clean = |token: &str| token.replace('▁', "");
    let width = |token: &str| token.chars().count();
    let label = rows.iter().map(|row| width(&clean(row))).max().unwrap_or(0).max(4);
    let columns: Vec<String> = columns.iter().map(|column| clean(column)).collect();
    let cells: Vec<usize> = columns.iter().map(|column| width(column).max(4)).collect();
    let mut picture = format!("  {:label$}", "");
    for (column, cell) in columns.iter().zip(&cells) {
        picture += &format!("  {column:>cell$}");
    }
    picture.push('\n');
    for (row, weights) in rows.iter().zip(weights) {
        let mut line = format!("  {:<label$}", clean(row));
        for (weight, cell) in weights.iter().zip(&cells) {
            // A fifth each; the number beside it says the rest.
            let shade = SHADES[((weight * 5.0) as usize).min(4)];
            let number = (weight * 100.0).round() as u32;
            let number = if number > 0 { format!("{number}") } else { String::new() };
            let drawn = format!("{number}{shade}");
            line += &format!("  {drawn:>cell$}");
        }
        picture += line.trim_end();
        picture.push('\n');
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heat_map_has_a_row_and_a_column_for_each_token() {
        let tokens = |t: &[&str]| t.iter().map(|t| t.to_string()).collect::<Vec<_>>();
        let picture = heat_map(
            &tokens(&["▁I", "▁am"]),
            &tokens(&["▁Je", "▁suis"]),
            &[vec![1.0, 0.0], vec![0.25, 0.75]],
        );
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines[0], "          Je  suis");
        assert_eq!(lines[1], "  I     100██");
        assert_eq!(lines[2], "  am    25░░  75▓▓");
    }
}
