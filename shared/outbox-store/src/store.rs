//! The store: a pool and the statements, rendered once for the configured schema.

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
    schema_version: String,
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
            schema_version: queries::SCHEMA_VERSION.render(&schema),
        };
        Self { pool, sql: sql.into(), schema }
    }

    /// Checks that the database's outbox is of the version that this program knows. Once, at the first use.
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
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => "run `outbox migrate`",
            std::cmp::Ordering::Greater => "deploy the newer program",
        };
        Err(Error::SchemaVersion { schema, found, needed: SCHEMA_VERSION, advice })
    }
}

fn is_missing(error: &tokio_postgres::Error) -> bool {
    use tokio_postgres::error::SqlState;
    matches!(error.code(), Some(state) if [SqlState::UNDEFINED_FUNCTION, SqlState::INVALID_SCHEMA_NAME].contains(state))
}
