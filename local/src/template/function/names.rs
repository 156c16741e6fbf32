//! The names that SAM and Lambda know.

/// Properties of a function that may be global.
///
/// Source: SAM translator, `plugins/globals/globals.py`.
const GLOBAL: [&str; 40] = [
    "Architectures",
    "AssumeRolePolicyDocument",
    "AutoPublishAlias",
    "AutoPublishAliasAllProperties",
    "CapacityProviderConfig",
    "CodeSigningConfigArn",
    "CodeUri",
    "DeadLetterQueue",
    "DeploymentPreference",
    "Description",
    "DurableConfig",
    "Environment",
    "EphemeralStorage",
    "EventInvokeConfig",
    "FileSystemConfigs",
    "FunctionScalingConfig",
    "FunctionUrlConfig",
    "Handler",
    "KmsKeyArn",
    "Layers",
    "LoggingConfig",
    "MemorySize",
    "PermissionsBoundary",
    "PropagateTags",
    "ProvisionedConcurrencyConfig",
    "PublishToLatestPublished",
    "RecursiveLoop",
    "ReservedConcurrentExecutions",
    "RolePath",
    "Runtime",
    "RuntimeManagementConfig",
    "SnapStart",
    "SourceKMSKeyArn",
    "Tags",
    "TenancyConfig",
    "Timeout",
    "Tracing",
    "VersionDeletionPolicy",
    "VpcConfig",
    "ImageConfig",
];

/// Properties of a function that each function has for itself.
const OWN: [&str; 9] = [
    "AutoPublishCodeSha256",
    "Events",
    "FunctionName",
    "ImageUri",
    "InlineCode",
    "PackageType",
    "Policies",
    "Role",
    "VersionDescription",
];

/// Tells whether SAM's functions have such a property.
pub(super) fn is_of_function(name: &str) -> bool {
    GLOBAL.contains(&name) || OWN.contains(&name)
}

/// Tells whether SAM refuses such a property among the global ones.
pub(super) fn is_never_global(name: &str) -> bool {
    OWN.contains(&name)
}

/// Every type of event that SAM knows but those of Kafka.
///
/// Source: SAM developer guide, "EventSource".
const OTHER_EVENTS: [&str; 18] = [
    "AlexaSkill",
    "Api",
    "CloudWatchEvent",
    "CloudWatchLogs",
    "Cognito",
    "DocumentDB",
    "DynamoDB",
    "EventBridgeRule",
    "HttpApi",
    "IoTRule",
    "Kinesis",
    "MQ",
    "S3",
    "SNS",
    "SQS",
    "Schedule",
    "ScheduleV2",
    "WebSocketApi",
];

/// Tells whether SAM has such a type of event, and it is not of Kafka.
pub(super) fn is_other_event(name: &str) -> bool {
    OTHER_EVENTS.contains(&name)
}

/// The variables that Lambda sets itself, and refuses in a function's settings.
///
/// Source: AWS Lambda developer guide, "Defined runtime environment variables".
const RESERVED_VARIABLES: [&str; 18] = [
    "AWS_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_DEFAULT_REGION",
    "AWS_EXECUTION_ENV",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_INITIALIZATION_TYPE",
    "AWS_LAMBDA_LOG_GROUP_NAME",
    "AWS_LAMBDA_LOG_STREAM_NAME",
    "AWS_LAMBDA_RUNTIME_API",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "LAMBDA_RUNTIME_DIR",
    "LAMBDA_TASK_ROOT",
    "_HANDLER",
    "_X_AMZN_TRACE_ID",
];

/// Tells whether Lambda keeps a variable's name for itself.
pub(super) fn is_reserved_variable(name: &str) -> bool {
    RESERVED_VARIABLES.contains(&name)
}
