//! `taut manual DIR`: writes man pages and completions, for packages of the command.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;
use taut_report::{exit, say};

/// Write man pages (DIR/man1) and completions (DIR/completions)
#[derive(Debug, Args)]
pub struct Manual {
    /// Output directory; created if absent
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// `taut manual`, for the given command.
pub fn manual(options: &Manual, command: Command) -> Result<ExitCode, ExitCode> {
    let directory = options.directory.display();
    let files = write(&options.directory, command)
        .map_err(|error| exit::failed(format_args!("cannot write below {directory}: {error}")))?;
    say!("taut: wrote {files} files below {directory}");
    Ok(ExitCode::SUCCESS)
}

fn write(directory: &Path, mut command: Command) -> io::Result<usize> {
    let (pages, completions) = (directory.join("man1"), directory.join("completions"));
    std::fs::create_dir_all(&pages)?;
    std::fs::create_dir_all(&completions)?;
    command.build();
    let mut files = write_pages(&pages, &command)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut command, "taut", &completions)?;
        files += 1;
    }
    Ok(files)
}

/// Writes a page for a command and for each of its visible subcommands.
fn write_pages(directory: &Path, command: &Command) -> io::Result<usize> {
    let name = command
        .get_display_name()
        .unwrap_or(command.get_name())
        .to_owned();
    // The command `help` has no page, so the pages must not refer to one.
    let shown = command.clone().disable_help_subcommand(true);
    Man::new(shown)
        .title(name.to_uppercase())
        .generate_to(directory)?;
    let mut files = 1;
    let below = command.get_subcommands();
    for it in below.filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        files += write_pages(directory, it)?;
    }
    Ok(files)
}
