//! The provider's address, and the addresses under it.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;

use crate::payment::PaymentId;

/// What a path segment may hold as it is: RFC 3986's unreserved characters. All else is percent-encoded.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The provider's base address: http or https, maybe with a path, and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub struct GatewayUrl(String);

/// Says what is wrong with a provider's address. It does not repeat the address, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatewayUrlError {
    /// Not an address at all.
    #[error("not an absolute URL such as https://provider.example")]
    NotAUrl,
    /// Neither http nor https.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// A user name or a password in the address.
    #[error("it holds a user name or a password")]
    UserInfo,
    /// A query or a fragment.
    #[error("it holds a query or a fragment")]
    QueryOrFragment,
}

impl GatewayUrl {
    /// Returns the address of charges.
    pub fn charges(&self) -> String {
        format!("{}/v1/charges", self.0)
    }

    /// Returns the address of one charge: the payment's id is one segment, whatever is in it.
    pub fn charge(&self, id: &PaymentId) -> String {
        format!(
            "{}/v1/charges/{}",
            self.0,
            utf8_percent_encode(id.as_str(), SEGMENT)
        )
    }

    /// Tells whether connections are encrypted.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }
}

impl FromStr for GatewayUrl {
    type Err = GatewayUrlError;

    fn from_str(text: &str) -> Result<Self, GatewayUrlError> {
        // The URL standard strips and repairs these; in a setting they are a slip.
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err(GatewayUrlError::NotAUrl);
        }
        let url = Url::parse(text).map_err(|_| GatewayUrlError::NotAUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(GatewayUrlError::Scheme);
        }
        // It also repairs `https:host` and `https:///host`.
        let written_out = text
            .get(url.scheme().len()..)
            .and_then(|rest| rest.strip_prefix("://"))
            .is_some_and(|rest| !rest.starts_with('/'));
        if !written_out {
            return Err(GatewayUrlError::NotAUrl);
        }
        // `https://@host` has an empty user name, which the parsed address no longer shows.
        let authority = text.split('/').nth(2).unwrap_or_default();
        if !url.username().is_empty() || url.password().is_some() || authority.contains('@') {
            return Err(GatewayUrlError::UserInfo);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(GatewayUrlError::QueryOrFragment);
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::Payment;

    #[test]
    fn an_address_may_have_a_port_a_path_and_a_slash_at_its_end() {
        let check = |text: &str, charges: &str| {
            let url: GatewayUrl = text.parse().unwrap();
            assert_eq!(url.charges(), charges, "{text}");
        };
        check(
            "https://provider.example",
            "https://provider.example/v1/charges",
        );
        check(
            "https://provider.example/",
            "https://provider.example/v1/charges",
        );
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/charges");
        check("http://[::1]:8080/", "http://[::1]:8080/v1/charges");
        check("https://p.example/api/", "https://p.example/api/v1/charges");
        check(
            "https://p.example/api//",
            "https://p.example/api/v1/charges",
        );
        check("HTTPS://P.example:443/a", "https://p.example/a/v1/charges");
    }

    #[test]
    fn what_is_no_address_of_a_provider_is_refused() {
        let check = |text: &str, expected: GatewayUrlError| {
            assert_eq!(text.parse::<GatewayUrl>(), Err(expected), "{text:?}");
        };
        for text in [
            "provider",
            "//provider",
            "/v1",
            "http://",
            "https:///",
            "http:provider",
            "https:///provider",
            "http://a b",
            " http://a",
            "http://a\n",
            "http://a\tb",
            "http:\\\\a",
            "http://a:99999",
        ] {
            check(text, GatewayUrlError::NotAUrl);
        }
        for text in ["ftp://a", "file:///a", "unix://a", "localhost:8080"] {
            check(text, GatewayUrlError::Scheme);
        }
        for text in ["http://u@a", "http://u:p@a", "http://:p@a", "http://@a"] {
            check(text, GatewayUrlError::UserInfo);
        }
        for text in ["http://a?", "http://a/?b=c", "http://a/b#", "http://a#c"] {
            check(text, GatewayUrlError::QueryOrFragment);
        }
    }

    #[test]
    fn every_visible_character_of_an_id_comes_back_from_one_segment() {
        let url: GatewayUrl = "http://provider.example/api".parse().unwrap();
        let all: Vec<String> = (b'!'..=b'~')
            .map(|byte| char::from(byte).to_string())
            .collect();
        let whole = all.concat();
        for id in all.iter().map(|c| format!("a{c}")).chain([
            whole,
            "%2e%2e".to_owned(),
            "...".to_owned(),
        ]) {
            let value = serde_json::json!({
                "schema_version": 1, "payment_id": id, "order_id": "o", "amount": 1, "currency": "EUR",
            });
            let payment = Payment::decode(Some(value.to_string().as_bytes())).unwrap();
            let parsed = Url::parse(&url.charge(payment.id())).unwrap();
            let segments: Vec<&str> = parsed.path_segments().unwrap().collect();
            let [_, _, _, segment] = segments.as_slice() else {
                panic!("{id} is not one segment: {parsed}");
            };
            let back = percent_encoding::percent_decode_str(segment)
                .decode_utf8()
                .unwrap();
            assert_eq!(
                (back.as_ref(), parsed.query(), parsed.fragment()),
                (id.as_str(), None, None)
            );
        }
    }
}
