//! What a plain scalar is: YAML 1.1, which CloudFormation and SAM read.

use super::super::node::Kind;

/// Finds what a scalar without quotes and tag is.
///
/// Source: yaml.org/type, as PyYAML (which `sam` uses) reads it.
pub(super) fn plain(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Kind::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            Kind::Bool(false)
        }
        _ if is_number(text) => Kind::Number(text.into()),
        _ => Kind::Text(text.into()),
    }
}

/// Tells whether every reader renders a number as it is written.
///
/// Not so `0123` (83 to some), `1_000`, `0x10`, `1:30`, `1.10`, `1e3`, or a fraction of more digits than a double has.
pub(in super::super) fn is_as_written(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let all_digits = |text: &str| pipeline::digits(text).is_some();
    let (whole, fits) = match digits.split_once('.') {
        None => (digits, number != "-0"),
        Some((whole, fraction)) => {
            let plain =
                fraction == "0" || !(fraction.ends_with('0') || fraction.starts_with("0000"));
            (whole, all_digits(fraction) && plain && digits.len() <= 16)
        }
    };
    all_digits(whole) && (whole == "0" || !whole.starts_with('0')) && fits
}

/// Tells whether some reader of YAML takes a text for a number.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(
        unsigned,
        ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN"
    ) {
        return true;
    }
    let digits_of = |prefix: &str, radix: u32| {
        unsigned.strip_prefix(prefix).is_some_and(|digits| {
            !digits.is_empty() && digits.chars().all(|one| one == '_' || one.is_digit(radix))
        })
    };
    digits_of("0x", 16)
        || digits_of("0o", 8)
        || digits_of("0b", 2)
        || is_decimal(unsigned)
        || is_sexagesimal(unsigned)
}

fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        pipeline::digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)).is_some()
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let loose = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    let starts = mantissa
        .trim_start_matches('.')
        .starts_with(|one: char| one.is_ascii_digit());
    exponent_fits && starts && loose(whole) && loose(fraction)
}

fn is_sexagesimal(text: &str) -> bool {
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    let digits = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    let mut rest = parts.peekable();
    rest.peek().is_some()
        && first.starts_with(|one: char| one.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && rest.all(|part| {
            part.parse::<u8>()
                .is_ok_and(|number| part.len() <= 2 && number < 60 && digits(part))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        match plain(text) {
            Kind::Null => "null".to_owned(),
            Kind::Bool(value) => format!("bool {value}"),
            Kind::Number(number) => {
                if is_as_written(&number) {
                    format!("number {number}")
                } else {
                    "number read in several ways".to_owned()
                }
            }
            Kind::Text(text) => format!("text {text}"),
            Kind::List(_) | Kind::Map(_) | Kind::Call(_) => panic!("no scalar"),
        }
    }

    #[test]
    fn a_plain_scalar_is_what_yaml_1_1_says() {
        for text in ["", "~", "null", "NULL"] {
            assert_eq!(written(text), "null", "{text:?}");
        }
        for (text, value) in [
            ("true", true),
            ("Yes", true),
            ("ON", true),
            ("off", false),
            ("no", false),
        ] {
            assert_eq!(written(text), format!("bool {value}"), "{text}");
        }
        for text in [
            "0",
            "5",
            "-1",
            "900",
            "1.5",
            "2.0",
            "-0.25",
            "012345678901234567890".trim_start_matches('0'),
        ] {
            assert_eq!(written(text), format!("number {text}"));
        }
        for text in [
            "y",
            "n",
            "truE",
            "a",
            "1.2.3",
            "10.0.0.1",
            "127.0.0.1:9092",
            "8080:80",
            "30s",
            "-",
            ".",
            "1e",
            "2010-09-09",
            "0xg",
            "_1",
            "e5",
            "=",
            "1:a",
        ] {
            assert_eq!(written(text), format!("text {text}"));
        }
    }

    #[test]
    fn a_number_that_readers_disagree_on_is_known() {
        for text in [
            "0123",
            "08",
            "1_000",
            "0x1F",
            "0o17",
            "0b1",
            "1:30",
            "1.10",
            "1.",
            ".5",
            "1e3",
            "1.5E-3",
            "+1",
            "-0",
            ".inf",
            "-.INF",
            ".nan",
            "190:20:30.15",
            "0.00001",
            "0.1234567890123456",
        ] {
            assert_eq!(written(text), "number read in several ways", "{text}");
        }
    }
}
