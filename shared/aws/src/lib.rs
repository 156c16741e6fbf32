//! AWS: the bucket where incidents lie, and secrets. The only crate of the functions that names AWS's SDKs.
//!
//! Nothing is connected before it is needed, so that a cold start costs nothing, and every wait has an end.

pub mod bucket;
mod check;
pub mod config;
mod fault;
pub mod secrets;
pub mod signing;

pub use bucket::{Bucket, BucketName, Listed, Object, Swap};
pub use config::{CredentialsError, Endpoint, Keys, Limits, Sdk};
pub use secrets::{Secret, SecretFault};
pub use signing::{Presigned, SigningError};
