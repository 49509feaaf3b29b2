//! Every statement: its file prepares against the migrated schema, and its table entry is true.

use outbox_store::{Schema, queries};
use outbox_tests::Database;

#[tokio::test]
async fn every_statement_has_the_parameters_and_columns_that_the_table_says() {
    let db = Database::fresh().await;
    for query in queries::ALL {
        let sql = query.render(&Schema::default());
        let statement =
            db.client.prepare(&sql).await.unwrap_or_else(|e| panic!("{}: {e:?}", query.name));
        assert_eq!(statement.params(), query.params, "{}", query.name);
        let columns: Vec<_> =
            statement.columns().iter().map(tokio_postgres::Column::name).collect();
        assert_eq!(columns, query.columns, "{}", query.name);
    }
}

#[tokio::test]
async fn every_statement_names_itself_to_the_server_and_explains_itself_in_its_file() {
    for query in queries::ALL {
        let first = query.sql.lines().next().unwrap();
        assert_eq!(first, format!("-- outbox.{}", query.name));
        let rendered = query.render(&Schema::default());
        assert!(rendered.starts_with(&format!("-- \"outbox\".{}", query.name)), "{rendered}");
        for word in ["Return", "--   $"] {
            let is_there = query.sql.contains(word) || query.params.is_empty();
            assert!(is_there, "{}: its header does not say {word}", query.name);
        }
    }
}

#[tokio::test]
async fn every_column_table_view_and_function_has_a_comment() {
    let db = Database::fresh().await;
    let uncommented = "
        SELECT coalesce(string_agg(name, ', '), '') FROM (
            SELECT c.relname || '.' || a.attname AS name
            FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'outbox'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
              AND NOT a.attisdropped AND c.relname <> 'migration_history'
              AND col_description(c.oid, a.attnum) IS NULL
            UNION ALL
            SELECT relname FROM pg_class
            WHERE relnamespace = 'outbox'::regnamespace AND relkind IN ('r', 'v') AND relname <> 'migration_history'
              AND obj_description(oid, 'pg_class') IS NULL
            UNION ALL
            SELECT relname FROM pg_class
            WHERE relnamespace = 'outbox'::regnamespace AND relkind = 'i' AND relname LIKE '%\\_idx'
              AND obj_description(oid, 'pg_class') IS NULL
            UNION ALL
            SELECT proname FROM pg_proc
            WHERE pronamespace = 'outbox'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
        ) AS uncommented";
    assert_eq!(db.value::<String>(uncommented).await, "");
}
