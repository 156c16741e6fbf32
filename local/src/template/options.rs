//! What the command line says of a template.

use std::collections::BTreeMap;

/// What is given beside the template: parameters, overrides, and what stands for the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateOptions {
    /// Values of the template's parameters, by name; a name that it does not have is an error.
    pub parameters: BTreeMap<String, String>,
    /// Variables that every function gets in place of the template's, which then need not be resolvable.
    pub env: BTreeMap<String, String>,
    /// The brokers of every mapping, `host:port,…`, and of functions that have `KAFKA_BROKERS`, in place of the template's, which then
    /// need not be resolvable.
    pub fixed_brokers: Option<String>,
    /// `AWS::Region`.
    pub region: String,
    /// `AWS::AccountId`.
    pub account: String,
    /// `AWS::StackName`.
    pub stack: String,
}

impl Default for TemplateOptions {
    /// Returns no parameters, no overrides, the region `us-east-1`, the account `000000000000` and the stack `local`.
    fn default() -> Self {
        Self {
            parameters: BTreeMap::new(),
            env: BTreeMap::new(),
            fixed_brokers: None,
            region: "us-east-1".to_owned(),
            account: "000000000000".to_owned(),
            stack: "local".to_owned(),
        }
    }
}
