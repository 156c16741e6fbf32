//! The local tool: the services that the pipeline needs, and an emulator of Lambda's event source mapping, on one machine.
//!
//! Each noun stands alone and ends with its owner: an embedded broker, a real Kafka server, an S3 server, the payment
//! provider's simulator, a function made of real processes, and a mapping that drives it from a topic.

pub mod admin;
pub mod binaries;
pub mod broker;
pub mod cli;
pub mod demo;
pub mod event;
mod folder;
pub mod function;
pub mod http;
pub mod invoke;
pub mod kafka_server;
pub mod lambda_api;
pub mod mapping;
pub mod operator;
pub mod provider;
pub mod runner;
pub mod s3;
pub mod template;
pub mod topics;
