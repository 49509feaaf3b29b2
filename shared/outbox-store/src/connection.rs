//! One statement on a pooled connection: bounded in time, under a plan that does not depend on statistics.

use std::ops::Deref;
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use futures_util::future;
use tokio::runtime::Handle;
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
    let connection = Lent::of(pool).await?;
    let answer = within_time(async { Ok(connection.query_typed(sql, params).await?) }).await;
    connection.give_back(pool, answer)
}

/// Takes a connection and runs statements in one guarded transaction: all of them or none.
///
/// Everything is sent at once and answered in order, so that the transaction costs one round trip. The server
/// turns the COMMIT into a rollback if a statement failed.
pub(crate) async fn guarded<const N: usize>(
    pool: &Pool,
    statements: [(&str, &[Param<'_>]); N],
) -> Result<[Vec<Row>; N], Error> {
    let rows = guarded_all(pool, &statements).await?;
    Ok(rows.try_into().unwrap_or_else(|_| unreachable!("as many answers as statements")))
}

/// As [`guarded`], for a number of statements that is known at run time only.
pub(crate) async fn guarded_all(
    pool: &Pool,
    statements: &[(&str, &[Param<'_>])],
) -> Result<Vec<Vec<Row>>, Error> {
    let connection = Lent::of(pool).await?;
    let answer = within_time(async {
        let statements = statements.iter().map(|(sql, params)| connection.query_typed(sql, params));
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
        Ok(rows)
    })
    .await;
    connection.give_back(pool, answer)
}

/// A connection of the pool. It goes back only with an answer: where the caller gave up in the middle, the next one
/// would wait behind a statement that nobody waits for. The server still carries out what it was sent: the connection is
/// kept open for it, and closed after its answer, as a server gives up a statement whose client is gone.
struct Lent(Option<Object>);

impl Lent {
    async fn of(pool: &Pool) -> Result<Self, Error> {
        pool.get()
            .await
            .map(|object| Self(Some(object)))
            .map_err(|source| Error::Connection { source })
    }

    /// Returns the connection to its pool, or drops it where it must not be used again.
    fn give_back<T>(mut self, pool: &Pool, answer: Result<T, Error>) -> Result<T, Error> {
        if !answer.as_ref().is_err_and(Error::condemns_connection) {
            drop(self.0.take());
        }
        // After a fail-over the idle connections lead to the same server as this one. They pass every probe, and each would
        // cost a run.
        if answer.as_ref().is_err_and(Error::is_read_only) {
            pool.retain(|_, _| false);
        }
        answer
    }
}

impl Deref for Lent {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.0.as_ref().expect("it is there until it is given back")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(object) = self.0.take() else { return };
        let client = Object::take(object);
        if let (false, Ok(runtime)) = (client.is_closed(), Handle::try_current()) {
            runtime.spawn(async move {
                _ = tokio::time::timeout(ANSWER_WITHIN, client.batch_execute("")).await;
            });
        }
    }
}

async fn within_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(ANSWER_WITHIN, work).await.unwrap_or(Err(Error::Timeout(ANSWER_WITHIN)))
}
<<<<<<< HEAD
=======
