//! Counts the fences and locked instructions that a program executed, which a count of instructions
//! does not weigh: `objdump -d PROGRAM | locked_instructions CALLGRIND_OUT`, for a file of
//! callgrind with `--dump-instr=yes`. Prints their total number.

use std::collections::HashSet;
use std::io::{self, BufRead};
use std::process::ExitCode;

/// Returns the addresses of fences and locked instructions, of x86 and of arm64.
fn locked(disassembly: impl BufRead) -> io::Result<HashSet<u64>> {
    let mut addresses = HashSet::new();
    for line in disassembly.lines() {
        let line = line?;
        let Some((address, instruction)) = line.split_once(":\t") else {
            continue;
        };
        // The mnemonic follows the bytes of the instruction, if they are shown.
        let text = instruction.rsplit('\t').next().unwrap_or(instruction);
        let whole: Vec<&str> = instruction.split_whitespace().collect();
        let word = text.split_whitespace().next().unwrap_or_default();
        // An exchange with memory is locked implicitly.
        let exchanges = word.starts_with("xchg") && text.contains('(');
        let fences = matches!(word, "mfence" | "lock" | "dmb") || whole.contains(&"lock");
        if (exchanges || fences)
            && let Ok(address) = u64::from_str_radix(address.trim(), 16)
        {
            addresses.insert(address);
        }
    }
    Ok(addresses)
}

/// Counts the executions of those addresses. Addresses and lines are absolute, relative to the
/// previous line or the same (`*`). The line after `calls=` has the cost of the call, which counts
/// for the callee.
fn executed(callgrind: &str, addresses: &HashSet<u64>) -> u64 {
    let (mut address, mut total, mut is_call) = (0_u64, 0, false);
    for line in callgrind.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let next = match first.as_bytes().first() {
            Some(b'0') => u64::from_str_radix(first.trim_start_matches("0x"), 16).ok(),
            Some(b'+') => first[1..].parse().ok().map(|by: u64| address + by),
            Some(b'-') => first[1..].parse().ok().map(|by: u64| address - by),
            Some(b'*') => Some(address),
            _ => None,
        };
        if let Some(next) = next {
            address = next;
            let count: u64 = words.last().and_then(|word| word.parse().ok()).unwrap_or(0);
            if !is_call && addresses.contains(&address) {
                total += count;
            }
        }
        is_call = line.starts_with("calls=");
    }
    total
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: objdump -d PROGRAM | locked_instructions CALLGRIND_OUT");
        return ExitCode::from(2);
    };
    let counted = std::fs::read_to_string(&path)
        .and_then(|callgrind| Ok(executed(&callgrind, &locked(io::stdin().lock())?)));
    match counted {
        Ok(total) => {
            println!("{total}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("locked_instructions: {path}: {error}");
            ExitCode::FAILURE
        }
    }
}
