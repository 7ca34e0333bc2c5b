//! C programs compiled against the header and the libraries, with strict compiler flags.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the static library that cargo built with this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let directory = test.parent().expect("directory");
    directory.join("libtaut_dql_capi.a")
}

fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}");
    output
}

/// Compiles a program of `tests/c` or `examples`, and returns its path.
fn build(source: &str) -> PathBuf {
    let name = Path::new(source).file_stem().expect("name");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-D_GNU_SOURCE"]).args(STRICT);
    cc.arg("-I").arg(root().join("include"));
    cc.arg(root().join(source)).arg(library());
    cc.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    run(&mut cc);
    program
}

fn vectors() -> PathBuf {
    root().join("../dql/tests/vectors")
}

/// Returns a file of a vector, decompressed if it is large.
fn vector_file(name: &str) -> PathBuf {
    let file = vectors().join(name);
    if file.exists() {
        return file;
    }
    let compressed = vectors().join(format!("{name}.gz"));
    let content = run(Command::new("gzip").arg("-dc").arg(compressed)).stdout;
    let decompressed = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&decompressed, content).expect("a file");
    decompressed
}

#[test]
fn every_conformance_vector_holds() {
    let program = build("tests/c/conformance.c");
    let mut played = 0;
    for entry in std::fs::read_dir(vectors()).expect("vectors") {
        let file = entry.expect("file").file_name();
        if let Some((name, _)) = file.to_str().expect("UTF-8").split_once(".ops") {
            let [operations, expected] = ["ops", "expected"].map(|it| format!("{name}.{it}"));
            let (operations, expected) = (vector_file(&operations), vector_file(&expected));
            let output = run(Command::new(&program).arg(operations).arg(expected));
            let lines: usize = String::from_utf8_lossy(&output.stdout)
                .trim()
                .parse()
                .expect("lines");
            assert!(lines > 1, "{name}");
            played += 1;
        }
    }
    assert!(played >= 17, "{played}");
}

#[test]
fn rules_by_name_lie_in_the_callers_memory() {
    run(&mut Command::new(build("tests/c/limits.c")));
}

#[test]
fn registered_limits_are_limits_everywhere() {
    run(&mut Command::new(build("tests/c/registered.c")));
}

#[test]
fn each_frame_of_a_queue_ends_once() {
    run(&mut Command::new(build("tests/c/queue.c")));
}

#[test]
fn misuse_returns_a_status() {
    run(&mut Command::new(build("tests/c/misuse.c")));
}

#[test]
fn coalescer_merges_batches_and_stall_is_detected() {
    run(&mut Command::new(build("tests/c/detectors.c")));
}

#[test]
fn two_threads_agree() {
    run(&mut Command::new(build("tests/c/threads.c")));
}

#[test]
fn the_header_is_c_plus_plus_as_well() {
    let mut compiler = Command::new("c++");
    compiler
        .args(["-std=c++17", "-fsyntax-only", "-x", "c++"])
        .args(STRICT);
    run(compiler
        .arg("-include")
        .arg(root().join("include/taut.h"))
        .arg("/dev/null"));
}

#[test]
fn the_udp_sender_sends_over_loopback() {
    let receiver = std::net::UdpSocket::bind(("127.0.0.1", 0)).expect("socket");
    let port = receiver.local_addr().expect("address").port().to_string();
    let program = build("examples/udp_sender.c");
    let output = run(Command::new(&program).args(["127.0.0.1", &port]));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("2000 sent, 0 lost"), "{text}");
    let wrong = Command::new(&program)
        .arg("nowhere")
        .output()
        .expect("runs");
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn packet_ring_sends_submitted_frames() {
    let program = build("examples/packet_ring.c");
    let output = Command::new(&program).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("a network namespace: Operation not permitted") {
        eprintln!("skipped: it needs root");
        return;
    }
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("completed 5000\nlimit "), "{text}");
}

/// Each program of the README, unchanged.
#[test]
fn readme_example_compiles_and_runs() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let programs: Vec<_> = readme.split("```c\n").skip(1).collect();
    assert!(!programs.is_empty());
    for (at, text) in programs.iter().enumerate() {
        let program = text.split("```").next().expect("code");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let file = directory.join(format!("readme-{at}.c"));
        std::fs::write(&file, program).expect("written");
        run(&mut Command::new(build(&file.to_string_lossy())));
    }
}
