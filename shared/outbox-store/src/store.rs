//! The store: a pool and the statements, rendered once for the configured schema.

use std::cmp::Ordering;

use deadpool_postgres::Pool;

use crate::connection;
use crate::error::Error;
use crate::migrate::SCHEMA_VERSION;
use crate::queries;
use crate::schema::Schema;

/// The relay's, the purge's and the operator's side of the outbox. Cheap to clone.
///
/// Every method takes a connection from the pool and gives it back; none holds a transaction when it returns. A
/// dropped future leaves the statement to the server, which may still carry it out: a claim is then a lease that
/// runs out, a mark has been made or not.
#[derive(Clone)]
pub struct Store {
    pub(crate) pool: Pool,
    pub(crate) sql: std::sync::Arc<Sql>,
    pub(crate) schema: Schema,
}

/// The statements for one schema.
pub(crate) struct Sql {
    pub(crate) claim: String,
    pub(crate) claim_groups: String,
    pub(crate) groups: String,
    pub(crate) probe: String,
    pub(crate) probe_unused: String,
    pub(crate) requests_failed: String,
    pub(crate) recovered: String,
    pub(crate) mark_dispatched: String,
    pub(crate) mark_retry: String,
    pub(crate) mark_dead: String,
    pub(crate) release: String,
    pub(crate) isolate: String,
    pub(crate) unlocked: String,
    pub(crate) due: String,
    pub(crate) purge: String,
    pub(crate) purge_preview: String,
    pub(crate) purgeable: String,
    pub(crate) purge_archived: String,
    pub(crate) now: String,
    pub(crate) dead_summary: String,
    pub(crate) next_dead: String,
    pub(crate) dead_among: String,
    pub(crate) redrive: String,
    pub(crate) discard: String,
    pub(crate) pause: String,
    pub(crate) resume: String,
    pub(crate) resume_group: String,
    pub(crate) backlog: String,
    pub(crate) list: String,
    pub(crate) list_unfinished: String,
    pub(crate) list_dead: String,
    pub(crate) list_copies: String,
    pub(crate) show: String,
    pub(crate) audit_of: String,
    pub(crate) tail: String,
    pub(crate) examine: String,
    pub(crate) checkup: String,
    pub(crate) lacking: String,
    pub(crate) backend: String,
    pub(crate) takes_writes: String,
    pub(crate) destination_status: String,
    pub(crate) destination_states: String,
    pub(crate) database_status: String,
    pub(crate) knows_destination: String,
    pub(crate) record_run: String,
    pub(crate) last_runs: String,
    schema_version: String,
    serves_since: String,
}

impl Store {
    /// A store on that pool; nothing is connected yet.
    pub fn new(pool: Pool, schema: Schema) -> Self {
        let sql = Sql {
            claim: queries::CLAIM.render(&schema),
            claim_groups: queries::CLAIM_GROUPS.render(&schema),
            groups: queries::GROUPS.render(&schema),
            probe: queries::PROBE.render(&schema),
            probe_unused: queries::PROBE_UNUSED.render(&schema),
            requests_failed: queries::REQUESTS_FAILED.render(&schema),
            recovered: queries::RECOVERED.render(&schema),
            mark_dispatched: queries::MARK_DISPATCHED.render(&schema),
            mark_retry: queries::MARK_RETRY.render(&schema),
            mark_dead: queries::MARK_DEAD.render(&schema),
            release: queries::RELEASE.render(&schema),
            isolate: queries::ISOLATE.render(&schema),
            unlocked: queries::UNLOCKED.render(&schema),
            due: queries::DUE.render(&schema),
            purge: queries::PURGE.render(&schema),
            purge_preview: queries::PURGE_PREVIEW.render(&schema),
            purgeable: queries::PURGEABLE.render(&schema),
            purge_archived: queries::PURGE_ARCHIVED.render(&schema),
            now: queries::NOW.render(&schema),
            dead_summary: queries::DEAD_SUMMARY.render(&schema),
            next_dead: queries::NEXT_DEAD.render(&schema),
            dead_among: queries::DEAD_AMONG.render(&schema),
            redrive: queries::REDRIVE.render(&schema),
            discard: queries::DISCARD.render(&schema),
            pause: queries::PAUSE.render(&schema),
            resume: queries::RESUME.render(&schema),
            resume_group: queries::RESUME_GROUP.render(&schema),
            backlog: queries::BACKLOG.render(&schema),
            list: queries::LIST.render(&schema),
            list_unfinished: queries::LIST_UNFINISHED.render(&schema),
            list_dead: queries::LIST_DEAD.render(&schema),
            list_copies: queries::LIST_COPIES.render(&schema),
            show: queries::SHOW.render(&schema),
            audit_of: queries::AUDIT_OF.render(&schema),
            tail: queries::TAIL.render(&schema),
            examine: queries::EXAMINE.render(&schema),
            checkup: queries::CHECKUP.render(&schema),
            lacking: queries::LACKING.render(&schema),
            backend: queries::BACKEND.render(&schema),
            takes_writes: queries::TAKES_WRITES.render(&schema),
            destination_status: queries::DESTINATION_STATUS.render(&schema),
            destination_states: queries::DESTINATION_STATES.render(&schema),
            database_status: queries::DATABASE_STATUS.render(&schema),
            knows_destination: queries::KNOWS_DESTINATION.render(&schema),
            record_run: queries::RECORD_RUN.render(&schema),
            last_runs: queries::LAST_RUNS.render(&schema),
            schema_version: queries::SCHEMA_VERSION.render(&schema),
            serves_since: queries::SERVES_SINCE.render(&schema),
        };
        Self { pool, sql: sql.into(), schema }
    }

    /// The name of the outbox's schema.
    pub fn schema(&self) -> &str {
        self.schema.name()
    }

    /// Checks that this program works with the database's outbox: it is of the version that the program knows, or of a later one
    /// that still serves it, so that functions can be deployed after a migration. Once, at the first use.
    ///
    /// # Errors
    /// [`Error::NoOutbox`] or [`Error::SchemaVersion`] say what to do; others are the connection's.
    pub async fn check_version(&self) -> Result<(), Error> {
        let schema = self.schema.name().to_owned();
        let rows = match connection::query(&self.pool, &self.sql.schema_version, &[]).await {
            Ok(rows) => rows,
            Err(Error::Database(error)) if is_missing(&error) => {
                return Err(Error::NoOutbox { schema });
            }
            Err(error) => return Err(error),
        };
        let found: i32 = rows[0].get("version");
        let advice = match found.cmp(&SCHEMA_VERSION) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => "run `outbox migrate`",
            Ordering::Greater if self.is_served().await? => return Ok(()),
            Ordering::Greater => "deploy the newer program",
        };
        Err(Error::SchemaVersion { schema, found, needed: SCHEMA_VERSION, advice })
    }

    /// Whether a later outbox says that it works with this program.
    async fn is_served(&self) -> Result<bool, Error> {
        let rows = connection::query(&self.pool, &self.sql.serves_since, &[]).await?;
        Ok(rows[0].get::<_, i32>("version") <= SCHEMA_VERSION)
    }

    /// Checks that the database takes writes, before something is begun that consists of them.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] if it does not. Idle connections are given up then: after a fail-over they lead to the old server,
    /// and a new one may lead to the right one.
    pub async fn check_takes_writes(&self) -> Result<(), Error> {
        let rows = connection::query(&self.pool, &self.sql.takes_writes, &[]).await?;
        if rows[0].get("takes_writes") {
            return Ok(());
        }
        self.pool.retain(|_, _| false);
        Err(Error::ReadOnly)
    }
}

fn is_missing(error: &tokio_postgres::Error) -> bool {
    use tokio_postgres::error::SqlState;
    matches!(error.code(), Some(state) if [SqlState::UNDEFINED_FUNCTION, SqlState::INVALID_SCHEMA_NAME].contains(state))
}
