//! The store's statements on a connection of the test's own, where their plans can be chosen and seen.

use outbox_store::{Schema, queries};
use tokio_postgres::{Client, Row};

/// Prepares a statement of the store: the connection then knows it by its own name.
pub(crate) async fn prepare(client: &Client, name: &str) {
    let query = queries::ALL.iter().find(|query| query.name == name).unwrap();
    // An array type's own name is that of its element with an underscore before it.
    let types = query.params.iter().map(|t| match t.name().strip_prefix('_') {
        Some(element) => format!("{element}[]"),
        None => t.name().to_owned(),
    });
    let types = in_parentheses(&types.collect::<Vec<_>>().join(", "));
    let sql = query.render(&Schema::default());
    client.batch_execute(&format!("PREPARE \"{name}\"{types} AS {sql}")).await.unwrap();
}

/// Runs a prepared statement; its arguments are expressions of SQL.
pub(crate) async fn execute(client: &Client, name: &str, arguments: &str) -> Vec<Row> {
    let arguments = in_parentheses(arguments);
    client.query(&format!("EXECUTE \"{name}\"{arguments}"), &[]).await.unwrap()
}

/// The plan of a prepared statement, with these options of EXPLAIN.
pub(crate) async fn explain(client: &Client, options: &str, name: &str, arguments: &str) -> String {
    let arguments = in_parentheses(arguments);
    let sql = format!("EXPLAIN ({options}) EXECUTE \"{name}\"{arguments}");
    let rows = client.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// Nothing stays nothing: an empty pair of parentheses is no SQL here.
fn in_parentheses(list: &str) -> String {
    if list.is_empty() { String::new() } else { format!("({list})") }
}
