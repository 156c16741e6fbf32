//! From text to a tree: YAML, and JSON, which is YAML too.
//!
//! What CloudFormation does not take is refused with its line: aliases, merge keys, and tags such as `!!binary`. What its readers
//! disagree on is refused too: duplicate keys. Source: CloudFormation user guide, "Template format".

mod build;
mod characters;
mod scalar;

pub(super) use self::build::read;
pub(super) use self::scalar::is_as_written;
