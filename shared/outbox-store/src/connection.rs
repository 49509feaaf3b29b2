//! One statement on a pooled connection: bounded in time, under a plan that does not depend on statistics.

use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use futures_util::future;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::error::Error;
use crate::queries::BEGIN_GUARDED;

/// A parameter and its type: with types given, a statement needs no name and no preparing, so that it goes
/// through a transaction pooler.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Longer than any healthy call takes, and shorter than the default lease. The engine allows less near a deadline.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A duration as the statements take it.
pub(crate) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Takes a connection and runs one statement outside a transaction of ours.
pub(crate) async fn query(pool: &Pool, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
    let connection = take(pool).await?;
    let answer = within_time(async { Ok(connection.query_typed(sql, params).await?) }).await;
    give_back(pool, connection, answer)
}

/// Takes a connection and runs statements in one guarded transaction: all of them or none.
///
/// Everything is sent at once and answered in order, so that the transaction costs one round trip. The server
/// turns the COMMIT into a rollback if a statement failed.
pub(crate) async fn guarded<const N: usize>(
    pool: &Pool,
    statements: [(&str, &[Param<'_>]); N],
) -> Result<[Vec<Row>; N], Error> {
    let connection = take(pool).await?;
    let answer = within_time(async {
        let statements = statements.map(|(sql, params)| connection.query_typed(sql, params));
        // Joined futures are first polled in order, and a statement is on its way once it was polled.
        let (begun, rows, committed) = future::join3(
            connection.batch_execute(BEGIN_GUARDED),
            future::join_all(statements),
            connection.batch_execute("COMMIT"),
        )
        .await;
        // A failed statement fails those behind it with 25P02, so the first error is the one to tell.
        begun?;
        let rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
        committed?;
        Ok(rows.try_into().unwrap_or_else(|_| unreachable!("as many answers as statements")))
    })
    .await;
    give_back(pool, connection, answer)
}

async fn take(pool: &Pool) -> Result<Object, Error> {
    pool.get().await.map_err(|source| Error::Connection { source })
}

async fn within_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(ANSWER_WITHIN, work).await.unwrap_or(Err(Error::Timeout(ANSWER_WITHIN)))
}

/// Returns the connection to its pool, or drops it where it must not be used again.
fn give_back<T>(pool: &Pool, connection: Object, answer: Result<T, Error>) -> Result<T, Error> {
    if answer.as_ref().is_err_and(Error::condemns_connection) {
        drop(Object::take(connection));
    }
    // After a fail-over the idle connections lead to the same server as this one. They pass every probe, and each would
    // cost a run.
    if answer.as_ref().is_err_and(Error::is_read_only) {
        pool.retain(|_, _| false);
    }
    answer
}
