//! Step 7: the purge function deletes what is old and sent, and nothing else.

use anyhow::Result;
use serde::Deserialize;

use crate::console::Console;
use crate::stage::Stage;

/// A month passes for all but the latest hundred messages that were sent.
const TIME_PASSES: &str = "
    UPDATE outbox.message
    SET created_at = created_at - interval '30 days',
        dispatched_at = dispatched_at - interval '30 days',
        dead_at = dead_at - interval '30 days'
    WHERE dispatched_at IS NULL
       OR id NOT IN (
           SELECT id
           FROM outbox.message
           WHERE dispatched_at IS NOT NULL
           ORDER BY id DESC
           LIMIT 100
       )";

const N_RECENT: i64 = 100;

#[derive(Deserialize)]
struct PurgeReport {
    purged: i64,
}

pub(crate) async fn deletes_what_is_old_and_sent(
    stage: &mut Stage<'_>,
    console: &mut Console,
) -> Result<()> {
    console.step("The purge function deletes what was sent over seven days ago, and nothing else");
    let n_dispatched: i64 = stage.n_with_status("dispatched").await?;
    stage.client.execute(TIME_PASSES, &[]).await?;
    console.note(
        "All but the latest 100 of those sent are aged by 30 days; so are the dead fax and\n\
         the waiting reminder.",
    );

    let mut purge = stage.start_purge()?;
    let report: PurgeReport = stage.emulator.invoke(&mut purge, console).await?;
    let n_old = n_dispatched - N_RECENT;
    console.count(n_old, "purged", report.purged)?;
    let n_left = stage.n_with_status("dispatched").await?;
    console.count(N_RECENT, "kept, sent recently", n_left)?;
    console.count(1, "kept, dead: the fax", stage.n_with_status("dead").await?)?;
    console.count(1, "kept, waiting: the reminder", stage.n_with_status("pending").await?)?;
    let seen = format!("{n_old} purged, {} kept", N_RECENT + 2);
    console.promise("Purge deletes what is sent and old, nothing else", &seen);
    Ok(())
}
