//! The integration tests: real Postgres, real SQS and SNS protocol, the real programs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod archive;
mod cases;
mod claim;
mod cli;
mod clock;
mod connect;
mod connection;
mod crash;
mod deadline;
mod discard;
mod enqueue;
mod failover;
mod function;
mod hold;
mod layering;
mod mark;
mod migrate;
mod order;
mod outage;
mod plan;
mod pooler;
mod publish;
mod purge;
mod queries;
mod redrive;
mod release;
mod replay;
mod roles;
mod run;
mod sign_in;
mod statement;
mod template;
