//! `portolan load ports`.

use std::{
    env, fs, io,
    io::IsTerminal,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use portolan_load::{
    Stop, parse_ports,
    ports::{
        Job, Outcome, PortsOptions, Program, Progress, Strategy, csv, figures, page, run_task,
        table,
    },
};

use super::{end_by, print_json, print_text, take_signals};

/// Size of the pictures on a terminal, in characters.
const COLUMNS: usize = 90;
const LINES: usize = 14;

/// Measure what the search for source ports costs on this host, and say what to do about it.
///
/// With each strategy, opens connections from one address to one destination until all are open at
/// once, then binds as many sockets, and times each call. As root, in network namespaces of its
/// own, so that nobody else on the host notices; otherwise over loopback, within the host's range.
#[derive(Args, Debug)]
pub struct PortsArgs {
    /// Connections with each strategy [default: 40000, or 90 % of the host's range].
    #[arg(long, value_name = "N")]
    connections: Option<u32>,

    /// Binds with each strategy [default: 40000, or 90 % of the host's range].
    #[arg(long, value_name = "N")]
    binds: Option<u32>,

    /// From which ports [default: 20000-60000 in a namespace of its own, else the host's range].
    #[arg(long, value_name = "FIRST-LAST")]
    range: Option<String>,

    /// Which strategies, in this order; separated by commas.
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "explicit,range,kernel")]
    strategy: Vec<Choice>,

    /// On the host itself, even as root.
    #[arg(long)]
    on_host: bool,

    /// Write ports.csv, ports.jsonl, the page ports.html and a chart for each curve to this folder.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// Print one JSON object for each strategy in each part (docs/formats/load.md).
    #[arg(long)]
    json: bool,

    /// What this copy of the program does for the one that started it.
    #[arg(long, hide = true, value_name = "JSON", exclusive = true)]
    task: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// We choose, and bind before we connect.
    Explicit,
    /// The kernel chooses, within a few ports that we choose (Linux 6.3).
    Range,
    /// The kernel chooses: what everybody does.
    Kernel,
}

/// Runs the subcommand.
///
/// # Errors
/// When nothing can be measured, or nothing written.
pub fn run(args: &PortsArgs) -> anyhow::Result<ExitCode> {
    if let Some(task) = &args.task {
        let task = serde_json::from_str(task).context("cannot read the task")?;
        run_task(&task, &mut io::stdin().lock(), &mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = &args.out {
        // Before anything is measured, so that nothing is measured in vain.
        fs::create_dir_all(folder).with_context(|| cannot_write(folder))?;
    }
    let options = options(args)?;
    let signals = take_signals()?;
    let stop = Stop::new().context("cannot make an eventfd")?;
    end_by(signals, stop.clone())?;
    let mut bar = Bar::new();
    let outcome = portolan_load::ports::run(&options, &stop, &mut |progress| bar.show(progress));
    bar.end();
    let outcome = outcome?;
    if args.json {
        outcome.records().try_for_each(|record| print_json(&record))?;
    } else {
        print_text(text(&outcome).trim_end())?;
    }
    if let Some(folder) = &args.out {
        write_all(folder, &outcome)?;
    }
    Ok(if outcome.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn options(args: &PortsArgs) -> anyhow::Result<PortsOptions> {
    let strategy = |choice: &Choice| match choice {
        Choice::Explicit => Strategy::Explicit,
        Choice::Range => Strategy::Range,
        Choice::Kernel => Strategy::Kernel,
    };
    let path = env::current_exe().context("cannot find this program's own file")?;
    let arguments = ["load", "ports", "--task"].map(Into::into).into();
    Ok(PortsOptions {
        connections: args.connections,
        binds: args.binds,
        range: args.range.as_deref().map(parse_ports).transpose()?,
        strategies: args.strategy.iter().map(strategy).collect(),
        on_host: args.on_host,
        program: Program { path, arguments },
    })
}

fn text(outcome: &Outcome) -> String {
    let pictures = [Job::Connect, Job::Bind].into_iter().flat_map(|job| figures(outcome, job));
    let mut text: String = pictures.map(|(_, figure)| figure.text(COLUMNS, LINES) + "\n").collect();
    text.push_str(&table(outcome));
    text
}

fn write_all(folder: &Path, outcome: &Outcome) -> anyhow::Result<()> {
    let lines: Result<Vec<String>, _> =
        outcome.records().map(|record| serde_json::to_string(&record)).collect();
    let lines = lines.context("cannot write JSON")?.join("\n") + "\n";
    let mut files = vec![
        ("ports.csv".to_owned(), csv(outcome)),
        ("ports.jsonl".to_owned(), lines),
        ("ports.html".to_owned(), page(outcome).html()),
    ];
    for (name, figure) in
        [Job::Connect, Job::Bind].into_iter().flat_map(|job| figures(outcome, job))
    {
        files.push((format!("{name}.svg"), figure.svg()));
    }
    for (name, text) in files {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| cannot_write(&file))?;
        tell!("wrote {}", file.display());
    }
    Ok(())
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

/// How far it is, on standard error: a bar on a terminal, else a line for each strategy.
struct Bar {
    bar: ProgressBar,
    is_terminal: bool,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg:18} [{bar:40}] {pos}/{len} {elapsed}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, is_terminal: io::stderr().is_terminal() }
    }

    fn show(&mut self, Progress { job, strategy, done, of }: Progress) {
        self.bar.set_message(format!("{job}, {strategy}"));
        self.bar.set_length(of.into());
        self.bar.set_position(done.into());
        if !self.is_terminal && done == of {
            tell!("{job}, {strategy}: {done}");
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
