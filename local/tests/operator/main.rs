//! The operator's commands as whole command lines, on the embedded broker and the S3 server in this process.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod clean;
#[cfg(test)]
mod incidents;
#[cfg(test)]
mod real_kafka;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod replay_asks;
#[cfg(test)]
mod replay_elsewhere;
#[cfg(test)]
mod replay_on_aws;
#[cfg(test)]
mod replay_status;
#[cfg(test)]
mod seed;
#[cfg(test)]
mod status;
#[cfg(test)]
mod where_is;
