//! E13: late segmentation reduces the delay that GSO packets cause for requests, at no cost in
//! goodput.

use serde_json::Value;
use taut_scenarios::{setting, sweep};

use crate::support::show;

const SHORT: [(&str, &str); 5] = [
    ("rate", "100mbit"),
    ("limits", "taut"),
    ("late_segmentation", "[\"off\", \"250us\", \"all\"]"),
    ("warm_up", "1s"),
    ("duration", "1s"),
];

#[test]
fn late_segmentation_lets_requests_pass() {
    let file = "scenario = \"late-segmentation\"";
    let text = setting::with(file, &SHORT).expect("settings");
    let found = sweep::run(&text, None, 1, &mut |_, _, _| {}).expect("a run");
    show(&found);
    assert_eq!(found.rows.len(), 4, "a rate that is set is not swept");
    let of = |tso: bool, split: &str, what: &str| {
        let is_it = |row: &&Value| row["tso"] == tso && row["late_segmentation"] == split;
        let row = found.rows.iter().find(is_it).expect("a row");
        row[what].as_f64().expect("a number")
    };
    let [off, time, all] = ["off", "250us", "all"].map(|split| of(true, split, "rr_tps"));
    let sender = of(false, "off", "rr_tps");
    assert!(time >= 5.0 * off, "{time} of {off}");
    assert!(all >= 0.8 * sender, "{all} of {sender}");
    assert!(time >= 0.5 * sender, "{time} of {sender}");
    let whole = of(true, "off", "goodput_bps");
    for split in ["250us", "all"] {
        let goodput = of(true, split, "goodput_bps");
        assert!(goodput >= 0.99 * whole, "{split}: {goodput} of {whole}");
    }
}

#[test]
fn each_swept_rate_has_its_rows() {
    let text = "scenario = \"late-segmentation\"\nstreams = 1\nlimits = [\"dql\"]\n\
                late_segmentation = [\"off\"]\nwarm_up = \"0ns\"\nduration = \"500ms\"\n\
                sweep = { rate = [\"2mbit\", \"20mbit\"] }";
    let found = sweep::run(text, None, 2, &mut |_, _, _| {}).expect("a run");
    let of_row = |row: &Value| (row["sweep"]["rate"].clone(), row["tso"].clone());
    let rows: Vec<_> = found.rows.iter().map(of_row).collect();
    let expected = [
        ("2mbit", true),
        ("2mbit", false),
        ("20mbit", true),
        ("20mbit", false),
    ];
    assert_eq!(rows, expected.map(|(rate, tso)| (rate.into(), tso.into())));
    assert_eq!(found.parameters["sweep"]["rate"][1], "20mbit");
}
