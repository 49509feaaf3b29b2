//! The integration tests: real Postgres, real SQS and SNS protocol, the real programs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod archive;
mod breaker;
mod cases;
mod chaos;
mod claim;
mod cli;
mod clock;
mod connect;
mod connection;
mod crash;
mod deadline;
mod deadly;
mod deploy;
mod discard;
mod enqueue;
mod failover;
mod function;
mod hold;
mod layering;
mod linger;
mod mark;
mod migrate;
mod operations;
mod order;
mod outage;
mod pages;
mod plan;
mod poison;
mod pooler;
mod privilege;
mod publish;
mod purge;
mod queries;
mod redaction;
mod redrive;
mod release;
mod replay;
mod roles;
mod run;
mod sign_in;
mod statement;
mod status;
mod template;
