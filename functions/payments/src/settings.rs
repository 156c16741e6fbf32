//! The settings of the payments function.

use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

use lambda::SettingsReader;
use pipeline::{Span, Stages};

use crate::asking::Asking;
use crate::circuit::Circuit;
use crate::token::Token;
use crate::url::GatewayUrl;

/// Everything the payments function is told by its environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The ladder.
    pub stages: Stages,
    /// The provider's address.
    pub gateway_url: GatewayUrl,
    /// How long a whole exchange with the provider may take.
    pub gateway_timeout: Span,
    /// Where the provider's token is.
    pub token: TokenSetting,
    /// When to ask before charging.
    pub asking: Asking,
    /// The circuit of the main stage; `None` when it is switched off or there is nowhere to send payments on to.
    pub circuit: Option<Circuit>,
    /// How many payments run at once.
    pub concurrency: NonZeroU16,
    /// Where notes on what runs are kept.
    pub marker_dir: PathBuf,
}

/// Where the provider's token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSetting {
    /// Calls carry none.
    None,
    /// `GATEWAY_TOKEN`.
    Fixed(Token),
    /// `GATEWAY_TOKEN_SECRET_ARN`.
    Secret(String),
}

impl Settings {
    /// Reads every setting and notes every problem.
    pub fn read(reader: &mut SettingsReader<'_>) -> Option<Self> {
        let stages = reader.stages();
        let gateway_url = reader.required("GATEWAY_URL", str::parse::<GatewayUrl>);
        let gateway_timeout = reader.or_default(
            "GATEWAY_TIMEOUT",
            Span::from_millis(10_000)?,
            str::parse::<Span>,
        );
        let token = token(reader);
        let first = reader.or_default("ASK_FIRST", crate::AskFirst::Unsure, str::parse);
        let key_lifetime = reader.or_default(
            "IDEMPOTENCY_KEY_LIFETIME",
            Span::from_millis(23 * 3_600_000)?,
            str::parse::<Span>,
        );
        let failures = reader.or_default("CIRCUIT_FAILURES", 5, str::parse::<u32>);
        let open_for = reader.or_default(
            "CIRCUIT_OPEN",
            Span::from_millis(10_000)?,
            str::parse::<Span>,
        );
        let concurrency = reader.or_default("CONCURRENCY", NonZeroU16::new(32)?, concurrency);
        let marker_dir =
            reader.or_default("MARKER_DIR", PathBuf::from("/tmp"), str::parse::<PathBuf>);

        let stages = stages?;
        let circuit = NonZeroU32::new(failures?)
            .filter(|_| !stages.retries().is_empty())
            .zip(open_for)
            .map(|(failures, open_for)| Circuit::new(failures, open_for));
        open_for?;
        Some(Self {
            gateway_url: gateway_url?,
            gateway_timeout: gateway_timeout?,
            token: token?,
            asking: Asking {
                first: first?,
                key_lifetime: key_lifetime?,
            },
            circuit,
            concurrency: concurrency?,
            marker_dir: marker_dir?,
            stages,
        })
    }
}

fn token(reader: &mut SettingsReader<'_>) -> Option<TokenSetting> {
    let fixed = reader.optional("GATEWAY_TOKEN", str::parse::<Token>);
    let secret = reader.optional("GATEWAY_TOKEN_SECRET_ARN", |arn| {
        Ok::<_, String>(arn.to_owned())
    });
    match (fixed?, secret?) {
        (None, None) => Some(TokenSetting::None),
        (Some(token), None) => Some(TokenSetting::Fixed(token)),
        (None, Some(arn)) => Some(TokenSetting::Secret(arn)),
        (Some(_), Some(_)) => {
            reader.problem(
                "GATEWAY_TOKEN",
                "is set beside GATEWAY_TOKEN_SECRET_ARN: set one of them",
            );
            None
        }
    }
}

fn concurrency(text: &str) -> Result<NonZeroU16, String> {
    text.parse()
        .ok()
        .filter(|number: &NonZeroU16| number.get() <= 1_000)
        .ok_or_else(|| format!("{text:?} is not a whole number from 1 to 1000"))
}
