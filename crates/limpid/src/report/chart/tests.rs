use super::super::svg::tests::assert_well_formed;
use super::*;

fn chart(points: &[(f64, f64)]) -> Chart {
    let series = Series::line("loss", points.to_vec());
    Chart::new("A chart", Axis::linear("step"), Axis::linear("nats"), vec![series])
}

/// The corners of the first line: "M64 100L704 20" gives (64, 100) and (704, 20).
fn corners(svg: &str) -> Vec<(f64, f64)> {
    let path = svg.split("<path d=\"").find(|part| part.contains("stroke-linejoin")).unwrap();
    let path = &path[1..path.find('"').unwrap()];
    let pair = |text: &str| {
        let (x, y) = text.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    path.split('L').map(pair).collect()
}

#[test]
fn points_are_where_arithmetic_puts_them() {
    // x from 0 to 10 over 440 units after 60; y from 0 to 100 over 280 units, upwards.
    let svg = chart(&[(0.0, 0.0), (2.5, 100.0), (10.0, 25.0)]).svg();
    let corners = corners(&svg);
    let bottom = corners[0].1;
    assert_eq!(corners, [(60.0, bottom), (170.0, bottom - 280.0), (500.0, bottom - 70.0)]);
    assert_well_formed(&svg);
}

#[test]
fn a_logarithmic_axis_puts_equal_ratios_equally_far_apart() {
    let mut chart = chart(&[(1.0, 1.0), (10.0, 10.0), (100.0, 100.0)]);
    (chart.x, chart.y) = (Axis::log("tokens"), Axis::log("ms"));
    let corners = corners(&chart.svg());
    let bottom = corners[0].1;
    assert_eq!(corners, [(60.0, bottom), (280.0, bottom - 140.0), (500.0, bottom - 280.0)]);
}

#[test]
fn ticks_title_labels_and_legend_are_there() {
    let svg = chart(&[(0.0, 1.0), (10.0, 3.0)]).svg();
    for text in [
        ">A chart</text>",
        ">step</text>",
        ">nats</text>",
        ">loss</text>",
        ">2.5</text>",
        ">10</text>",
    ] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    assert!(svg.contains("<title>A chart</title>"));
    assert!(
        svg.contains("<desc>nats against step. loss: 2 points, from 1 at 0 to 3 at 10.</desc>"),
        "{svg}"
    );
}

#[test]
fn the_text_alternative_of_a_nameless_series_is_its_points() {
    let mut chart = chart(&[(0.0, 1.0), (10.0, 3.0)]);
    chart.series[0].name.clear();
    let svg = chart.svg();
    let text = "<desc>nats against step. 2 points, from 1 at 0 to 3 at 10.</desc>";
    assert!(svg.contains(text), "{svg}");
}

#[test]
fn names_of_ticks_do_not_stand_in_each_other() {
    let mut chart = chart(&[(0.0, 1.0), (1000.0, 2.0)]);
    chart.x.ticks = vec![0.0, 500.0, 501.0, 502.0, 1000.0];
    let svg = chart.svg();
    assert!(
        svg.contains(">500</text>")
            && !svg.contains(">501</text>")
            && svg.contains(">1,000</text>")
    );
    assert_eq!(svg.matches("v5\"").count(), 5, "the ticks themselves are there");
}

#[test]
fn hostile_names_stay_text() {
    let mut chart = chart(&[(0.0, 1.0), (1.0, 2.0)]);
    chart.title = "</title><script>alert(1)</script>".to_string();
    chart.series[0].name = "a \"b\" & 'c' <d>\u{1}".to_string();
    chart.x.label = "]]>".to_string();
    let svg = chart.svg();
    assert_well_formed(&svg);
    assert!(!svg.contains("<script"));
    assert!(svg.contains("a &quot;b&quot; &amp; &#39;c&#39; &lt;d&gt;"));
}

#[test]
fn nothing_one_point_and_numbers_without_a_place_are_drawn_as_what_they_are() {
    let nan = f64::NAN;
    assert_well_formed(&Chart::new("empty", Axis::linear("x"), Axis::log("y"), vec![]).svg());
    let nothing = chart(&[]).svg();
    assert_well_formed(&nothing);
    assert!(nothing.contains("loss: no points."));
    let alone = chart(&[(3.0, 4.0)]).svg();
    assert_well_formed(&alone);
    assert_eq!(
        (alone.matches("<circle").count(), alone.matches("stroke-linejoin").count()),
        (1, 0)
    );
    let gap =
        chart(&[(0.0, 1.0), (1.0, 2.0), (2.0, nan), (3.0, 1.0), (4.0, f64::INFINITY), (5.0, 1.5)])
            .svg();
    assert_well_formed(&gap);
    assert!(!gap.contains("NaN") && !gap.contains("inf"), "{gap}");
    // One line before the gap; the two points after it are alone.
    assert_eq!((gap.matches("<circle").count(), gap.matches("stroke-linejoin").count()), (2, 1));
    assert_well_formed(&chart(&[(nan, nan)]).svg());
}

#[test]
fn a_series_of_a_million_points_is_small_and_keeps_its_peak() {
    let mut points: Vec<(f64, f64)> =
        (0..1_000_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
    points[654_321].1 = 100.0;
    let svg = chart(&points).svg();
    assert!(svg.len() < 150_000, "{} bytes", svg.len());
    let corners = corners(&svg);
    let top = corners.iter().map(|c| c.1).fold(f64::INFINITY, f64::min);
    assert_eq!(corners[0].1 - top, 280.0, "from 0 at the bottom to 100 at the top");
    assert_eq!((corners[0].0, corners.last().unwrap().0), (60.0, 500.0));
}

#[test]
fn a_faint_line_shares_the_colour_of_the_line_after_it_and_is_not_in_the_legend() {
    let points = vec![(0.0, 1.0), (1.0, 2.0)];
    let faint = Series::line("raw", points.clone()).marked(Mark::Faint);
    let series = vec![faint, Series::line("mean", points.clone()), Series::line("other", points)];
    let svg = Chart::new("t", Axis::linear("x"), Axis::linear("y"), series).svg();
    assert!(!svg.contains(">raw<") && svg.contains(">mean<"));
    // The faint line, the line, and its swatch in the legend; then the other's two.
    assert_eq!(svg.matches(colour(0)).count(), 3);
    assert_eq!(svg.matches(colour(1)).count(), 2);
}

#[test]
fn a_band_is_drawn_from_its_upper_edge_back_along_its_lower_edge() {
    let mut chart = chart(&[(0.0, 1.0), (10.0, 1.0)]);
    chart.series[0].band = vec![(0.0, 0.0, 2.0), (10.0, 0.0, 2.0)];
    let svg = chart.svg();
    let bottom = corners(&svg)[0].1 + 140.0;
    let outline = format!("M60 {0}L500 {0}L500 {1}L60 {1}Z", px(bottom - 280.0), px(bottom));
    assert!(svg.contains(&outline), "{outline} is not in {svg}");
}

#[test]
fn a_chart_is_read_from_json_and_null_is_a_gap() {
    let text = r#"{"title":"t","x":{"label":"a","scale":"log","ticks":[1,2]},"y":{"label":"b","include":0},
        "series":[{"name":"n","mark":"dots","points":[[1,2],[2,null],[4,8]]}]}"#;
    let chart: Chart = serde_json::from_str(text).unwrap();
    let svg = chart.svg();
    assert_well_formed(&svg);
    assert_eq!(svg.matches("<circle").count(), 2);
    for wrong in ["\"scale\":\"cubic\"", "\"colour\":1"] {
        assert!(
            serde_json::from_str::<Chart>(&text.replace("\"scale\":\"log\"", wrong)).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn the_same_numbers_give_the_same_bytes() {
    let points: Vec<_> = (0..100).map(|i| (f64::from(i), f64::from(i).sin())).collect();
    assert_eq!(chart(&points).svg(), chart(&points).svg());
}

#[test]
fn a_line_on_another_has_gaps_in_which_that_one_is_seen() {
    let dashes = |mark: Mark, others: [f64; 3]| {
        let mut chart = chart(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]);
        chart.series[0].mark = mark;
        let points = (1..4).map(f64::from).zip(others).collect();
        chart.series.push(Series::line("other", points).marked(mark));
        chart.svg().matches("stroke-dasharray=\"8 8\"").count()
    };
    // The line and its sign in the legend.
    assert_eq!(dashes(Mark::Dots, [1.0, 2.0, 3.0]), 2);
    assert_eq!(dashes(Mark::Dots, [1.0, 2.0, 1.0]), 2, "a part of it is enough");
    assert_eq!(dashes(Mark::Dots, [3.0, 2.0, 1.0]), 0, "lines that cross are seen");
    assert_eq!(dashes(Mark::Line, [1.0, 2.0, 3.0]), 0);
}
