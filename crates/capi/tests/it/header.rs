//! The header matches the source.

use std::fs;
use std::path::Path;

use cbindgen::{Builder, Config};

fn generated(root: &Path) -> String {
    let config = Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    let mut builder = Builder::new().with_config(config);
    for file in [
        "status",
        "snapshot",
        "dql",
        "halves",
        "coalescer",
        "stall",
        "queue/placed_limit",
        "queue/limit",
        "queue/callbacks",
        "queue/limit_register",
        "queue/frame_sink",
        "queue/ring",
        "queue/options",
        "queue/table",
        "queue/results",
        "queue/calls",
        "queue/classify",
    ] {
        builder = builder.with_src(root.join(format!("src/sys/{file}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().expect("a header").write(&mut text);
    without_safety(&String::from_utf8(text).expect("UTF-8"))
}

/// Removes the safety sections, which are conventions in C.
fn without_safety(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start() == "//" && lines.peek().is_some_and(|it| it.contains("# Safety")) {
            while lines
                .peek()
                .is_some_and(|it| it.trim_start().starts_with("//"))
            {
                lines.next();
            }
            continue;
        }
        kept.push_str(line.trim_end());
        kept.push('\n');
    }
    kept
}

/// `TAUT_WRITE_HEADER=1 cargo test -p taut-dql-capi header` generates it again.
#[test]
fn header_matches_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("include/taut.h");
    let made = generated(root);
    if std::env::var_os("TAUT_WRITE_HEADER").is_some() {
        fs::write(&file, &made).expect("written");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "include/taut.h does not match the source: generate it again"
    );
}
