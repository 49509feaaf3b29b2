//! `outbox enqueue`: a file of messages into the outbox, a thousand to a transaction.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future;
use indicatif::{ProgressBar, ProgressStyle};
use outbox_lambda::{Program, connect};
use outbox_store::Producer;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::args::Enqueue;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::ndjson::{BadLine, Chunk, Chunks};
use crate::output::Output;

type Input = Box<dyn BufRead + Send>;

/// What is committed so far.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Enqueued {
    enqueued: u64,
    /// The last line of the last committed transaction; 0 if there is none.
    last_line: u64,
}

pub(crate) async fn run(args: Enqueue, output: Output) -> Result<Exit, Failure> {
    let context = Context::quiet(Program::CommandLine)?;
    let (input, progress) = open(&args.file)?;
    let chunks = read_ahead(Chunks::new(input, args.from_line));

    let started = Instant::now();
    let mut enqueued = Enqueued::default();
    let end = enqueue(&context, chunks, &progress, &mut enqueued).await;
    progress.finish_and_clear();
    end.map_err(|failure| how_to_go_on(failure, enqueued))?;
    output.show(&enqueued, || {
        let (seconds, rate) = (started.elapsed().as_secs_f64(), rate(enqueued, started.elapsed()));
        format!("enqueued {} messages in {seconds:.1} s, {rate} a second", enqueued.enqueued)
    })?;
    Ok(Exit::Ok)
}

/// Inserts chunk after chunk, and keeps `enqueued` up to date for the case of a failure.
async fn enqueue(
    context: &Context,
    mut chunks: mpsc::Receiver<Result<Chunk, BadLine>>,
    progress: &ProgressBar,
    enqueued: &mut Enqueued,
) -> Result<(), Failure> {
    let failure = |error: outbox_store::Error| context.failure(error);
    context.store()?.check_version().await.map_err(failure)?;
    let mut client = connect(&context.settings.database).await?;
    let producer = Producer::new(&context.schema);

    let started = Instant::now();
    while let Some(chunk) = chunks.recv().await {
        let mut chunk = chunk?;
        let transaction = client.transaction().await.map_err(|error| failure(error.into()))?;
        let mut n_messages = 0;
        loop {
            // All are sent at once and answered in order. The first error is the one to tell: it fails
            // whatever comes behind it.
            let inserts =
                chunk.messages.iter().map(|(_, message)| producer.enqueue(&transaction, message));
            for ((line, _), answer) in chunk.messages.iter().zip(future::join_all(inserts).await) {
                answer.map_err(|error| refused(context, *line, &error))?;
            }
            n_messages += chunk.messages.len() as u64;
            progress.set_position(chunk.bytes_read);
            if chunk.ends_transaction {
                break;
            }
            let next = chunks
                .recv()
                .await
                .ok_or_else(|| Failure::problem("the file's reader has stopped"))?;
            chunk = next?;
        }
        transaction
            .commit()
            .await
            .map_err(|error| perhaps_committed(failure(error.into()), chunk.lines_read))?;
        enqueued.enqueued += n_messages;
        enqueued.last_line = chunk.lines_read;
        progress.set_message(format!(
            "{} messages, {}/s",
            enqueued.enqueued,
            rate(*enqueued, started.elapsed())
        ));
    }
    Ok(())
}

/// The file, or standard input, with a progress bar that shows on a terminal only.
fn open(path: &Path) -> Result<(Input, ProgressBar), Failure> {
    if path == Path::new("-") {
        let progress = ProgressBar::new_spinner().with_style(style("{spinner} {bytes}  {msg}"));
        return Ok((Box::new(BufReader::new(io::stdin())), progress));
    }
    let cannot_open = |error| Failure::usage(format!("cannot open {}: {error}", path.display()));
    let file = File::open(path).map_err(cannot_open)?;
    let n_bytes = file.metadata().map_err(cannot_open)?.len();
    let progress = ProgressBar::new(n_bytes)
        .with_style(style("{bar:32} {bytes}/{total_bytes}  {msg}  {eta} left"));
    Ok((Box::new(BufReader::new(file)), progress))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates above are well formed")
}

/// Reads and parses in a thread of its own: the connection must not wait for a slow pipe, and a second
/// core shares the work. Two chunks are enough to keep both busy.
fn read_ahead(chunks: Chunks<Input>) -> mpsc::Receiver<Result<Chunk, BadLine>> {
    let (sender, receiver) = mpsc::channel(2);
    std::thread::spawn(move || {
        for chunk in chunks {
            if sender.blocking_send(chunk).is_err() {
                break;
            }
        }
    });
    receiver
}

impl From<BadLine> for Failure {
    fn from(BadLine { line, problem }: BadLine) -> Self {
        Self::problem(format!("line {line}: {problem}"))
    }
}

/// The database did not take a line: the line's fault, unless it was not even reached.
fn refused(context: &Context, line: u64, error: &outbox_store::Error) -> Failure {
    let failure = context.store_failure(error);
    match failure.exit {
        Exit::Problem => Failure::problem(format!("line {line}: {}", failure.message)),
        _ => failure,
    }
}

fn perhaps_committed(failure: Failure, last_line: u64) -> Failure {
    failure.and(&format!("whether lines up to {last_line} are committed is not known"))
}

fn how_to_go_on(failure: Failure, Enqueued { enqueued, last_line }: Enqueued) -> Failure {
    if enqueued == 0 {
        return failure.and("nothing was enqueued");
    }
    let next = last_line + 1;
    failure.and(&format!(
        "the {enqueued} messages up to line {last_line} are committed, nothing after them is: go on \
         with --from-line {next}"
    ))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "for people"
)]
fn rate(enqueued: Enqueued, elapsed: Duration) -> u64 {
    (enqueued.enqueued as f64 / elapsed.as_secs_f64().max(0.001)) as u64
}
