//! `outbox enqueue`: a file of messages into the outbox, a thousand to a transaction.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

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
use crate::output::{Output, messages};

type Input = Box<dyn BufRead + Send>;

/// What is committed so far.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Enqueued {
    #[serde(rename = "enqueued")]
    n_messages: u64,
    /// Messages that were there already, by message id and destination.
    #[serde(rename = "already_there", skip_serializing_if = "is_none")]
    n_there: u64,
    /// The last line of the last committed transaction; 0 if there is none.
    last_line: u64,
    /// The last line of a transaction whose commit was asked for and not answered.
    #[serde(skip)]
    in_doubt: Option<u64>,
}

pub(crate) async fn run(args: Enqueue, output: Output) -> Result<Exit, Failure> {
    let context = Context { role: "outbox_producer", ..Context::quiet(Program::CommandLine)? };
    let (input, progress) = open(&args.file)?;
    let chunks = read_ahead(Chunks::new(input, args.from_line));

    let started = Instant::now();
    let mut enqueued = Enqueued::default();
    let end = enqueue(&context, chunks, &progress, &mut enqueued).await;
    progress.finish_and_clear();
    end.map_err(|failure| failure.and(&how_to_go_on(enqueued)))?;
    output.show(&enqueued, || {
        let seconds = started.elapsed().as_secs_f64();
        let there = match enqueued.n_there {
            0 => String::new(),
            n_there => format!("; already there: {}", messages(n_there)),
        };
        format!("enqueued {} in {seconds:.1} s{there}", messages(enqueued.n_messages))
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
    let failed = |error: outbox_store::Error| context.failure(error);
    context.store()?.check_version().await.map_err(failed)?;
    let mut client = connect(&context.settings.database).await?;
    let producer = Producer::new(&context.schema);

    let started = Instant::now();
    while let Some(chunk) = chunks.recv().await {
        let mut chunk = chunk?;
        let transaction = client.transaction().await.map_err(|error| failed(error.into()))?;
        let (mut n_messages, mut n_there) = (0, 0);
        loop {
            let chunk_messages = chunk.messages.iter().map(|(_, message)| message);
            let before = producer.enqueued_before(&transaction, chunk_messages).await;
            // Which ids are there; one that comes twice in the chunk is there the second time.
            let mut ids: HashSet<i64> = before.map_err(failed)?.into_iter().collect();
            // All are sent at once and answered in order. The first error is the one to tell: it fails
            // whatever comes behind it.
            let inserts =
                chunk.messages.iter().map(|(_, message)| producer.enqueue(&transaction, message));
            for ((line, _), answer) in chunk.messages.iter().zip(future::join_all(inserts).await) {
                let id = answer.map_err(|error| refused(context, *line, &error))?;
                if ids.insert(id) { n_messages += 1 } else { n_there += 1 }
            }
            progress.set_position(chunk.bytes_read);
            if chunk.ends_transaction {
                break;
            }
            let next =
                chunks.recv().await.ok_or_else(|| Failure::problem("reading has stopped"))?;
            chunk = next?;
        }
        enqueued.in_doubt = Some(chunk.lines_read);
        transaction.commit().await.map_err(|error| failed(error.into()))?;
        *enqueued = Enqueued {
            n_messages: enqueued.n_messages + n_messages,
            n_there: enqueued.n_there + n_there,
            last_line: chunk.lines_read,
            in_doubt: None,
        };
        progress.set_message(enqueued.with_rate(started));
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field as it is")]
fn is_none(count: &u64) -> bool {
    *count == 0
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

/// What is in the outbox after a failure, and what to do about the rest.
fn how_to_go_on(enqueued: Enqueued) -> String {
    let Enqueued { last_line, in_doubt, .. } = enqueued;
    let next = last_line + 1;
    match (last_line, in_doubt) {
        (_, Some(last)) => format!(
            "lines up to {last_line} are committed, and perhaps those up to {last}: look, then go on \
             with --from-line"
        ),
        (0, None) => "nothing was enqueued".to_owned(),
        (_, None) => format!(
            "lines up to {last_line} are committed and nothing after them: go on with --from-line {next}"
        ),
    }
}

impl Enqueued {
    /// `20000 messages, 8000 a second`.
    fn with_rate(self, since: Instant) -> String {
        let elapsed_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = (self.n_messages + self.n_there).saturating_mul(1_000) / elapsed_ms;
        format!("{}, {rate} a second", messages(self.n_messages + self.n_there))
    }
}
