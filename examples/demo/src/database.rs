//! A database of this run's own, on the server of `DATABASE_URL`.

use std::env;

use anyhow::{Context, Result};
use outbox_lambda::{Program, Settings};
use tokio_postgres::Client;
use url::Url;

/// Where the database is; [`create`](Self::create) makes it.
pub(crate) struct Database {
    name: String,
    server: Url,
}

impl Database {
    pub(crate) fn new(run: &str) -> Result<Self> {
        let server = env::var("DATABASE_URL").context(
            "DATABASE_URL is not set: run `make demo`, which knows where the database is",
        )?;
        let server = Url::parse(&server).context("DATABASE_URL is not a URL")?;
        Ok(Self { name: format!("demo_{run}"), server })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its URL, as the programs take it.
    pub(crate) fn url(&self) -> String {
        let mut url = self.server.clone();
        url.set_path(&self.name);
        url.into()
    }

    pub(crate) async fn create(&self) -> Result<()> {
        let client = connect(self.server.as_str()).await?;
        let created = client.batch_execute(&format!("CREATE DATABASE {}", self.name)).await;
        created.context("the demo's database cannot be created")
    }

    /// Drops it, whoever is still connected; that it was never created is well too.
    pub(crate) async fn drop(&self) -> Result<()> {
        let client = connect(self.server.as_str()).await?;
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let dropped = client.batch_execute(&sql).await;
        dropped.with_context(|| format!("the database {} cannot be dropped", self.name))
    }

    pub(crate) async fn connect(&self) -> Result<Client> {
        connect(&self.url()).await
    }
}

/// Connects as the programs do, TLS included.
async fn connect(url: &str) -> Result<Client> {
    let settings = Settings::from_vars(Program::CommandLine, [("OUTBOX_DATABASE_URL", url)])?;
    Ok(outbox_lambda::connect(&settings.database).await?)
}
