//! The integration tests: real Postgres, real SQS and SNS protocol, the real programs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod breaker;
mod chaos;
mod claim;
mod cli;
mod connect;
mod connection;
mod crash;
mod deadline;
mod deadly;
mod enqueue;
mod function;
mod layering;
mod linger;
mod mark;
mod migrate;
mod order;
mod outage;
mod plan;
mod poison;
mod publish;
mod purge;
mod queries;
mod redrive;
mod release;
mod replay;
mod roles;
mod run;
mod statement;
