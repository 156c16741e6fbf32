//! An endpoint's address.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

/// The address of an endpoint: http or https, a host, perhaps a port and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointUrl(Url);

/// Says that a text is no endpoint's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an endpoint is http:// or https:// with a host, such as http://127.0.0.1:9000")]
pub struct EndpointUrlError;

impl EndpointUrl {
    /// Returns where a function is invoked.
    pub(super) fn invocations(&self, function: &str) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty()
                .extend(["2015-03-31", "functions", function, "invocations"]);
        }
        url
    }

    /// Tells whether connections are encrypted.
    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl FromStr for EndpointUrl {
    type Err = EndpointUrlError;

    fn from_str(text: &str) -> Result<Self, EndpointUrlError> {
        let url = Url::parse(text).map_err(|_| EndpointUrlError)?;
        let plain = url.query().is_none() && url.fragment().is_none() && !text.contains('@');
        let written_out = text.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme, "http" | "https") && !rest.starts_with('/')
        });
        if plain && written_out && url.has_host() {
            Ok(Self(url))
        } else {
            Err(EndpointUrlError)
        }
    }
}

impl fmt::Display for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_one_segment_of_the_address_whatever_its_name() {
        let check = |url: &str, function: &str, expected: &str| {
            let url: EndpointUrl = url.parse().unwrap();
            assert_eq!(url.invocations(function).as_str(), expected);
        };
        let local = "http://127.0.0.1:9000/2015-03-31/functions/";
        check(
            "http://127.0.0.1:9000",
            "payments",
            &format!("{local}payments/invocations"),
        );
        check(
            "http://127.0.0.1:9000/",
            "a/b c",
            &format!("{local}a%2Fb%20c/invocations"),
        );
        check(
            "https://x.example/base/",
            "p",
            "https://x.example/base/2015-03-31/functions/p/invocations",
        );
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for text in [
            "",
            "127.0.0.1:9000",
            "localhost:9000",
            "ftp://x",
            "http://",
            "http:///x",
            "http://user@x",
            "http://x?a=b",
            "http://x#a",
        ] {
            assert!(text.parse::<EndpointUrl>().is_err(), "{text:?}");
        }
    }
}
