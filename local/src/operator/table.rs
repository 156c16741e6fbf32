//! Tables for people: columns side by side, and nothing in them that a terminal would obey.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// The longest text that a cell shows.
const LONGEST: usize = 80;

/// Lays out rows under a heading; columns named in `numbers` are set flush right.
pub(super) fn table(heading: &[&str], numbers: &[usize], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(heading.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.add_row(row.iter().map(|cell| plain(cell)));
    }
    for column in numbers {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Writes control characters visibly, since keys and headers are written by whoever may produce, and cuts what is too long.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == LONGEST {
            shown.push('…');
            break;
        }
        if is_harmless(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    shown
}

/// Writes a whole text, lines and tabs as they are, and whatever else a terminal would obey visibly.
pub(super) fn harmless(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars() {
        if is_harmless(character) || matches!(character, '\n' | '\t') {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    shown
}

/// Tells whether a character shows as itself and moves nothing else: marks that turn the direction of writing do.
fn is_harmless(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !character.is_control() && !turns
}

/// Shows what may not be known.
pub(super) fn or_dash(text: Option<impl ToString>) -> String {
    text.map_or_else(|| "-".to_owned(), |text| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(plain(text), expected);
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        check("k-7", "k-7");
        check("Ж 漢", "Ж 漢");
        check("\u{1b}[2J", "\\u{1b}[2J");
        check("a\nb\rc\td", "a\\u{a}b\\u{d}c\\u{9}d");
        check("\u{9b}1m", "\\u{9b}1m");
        check("a\u{202e}b", "a\\u{202e}b");
    }

    #[test]
    fn a_long_text_is_cut_on_a_character() {
        check(&"ж".repeat(80), &"ж".repeat(80));
        check(&"ж".repeat(81), &format!("{}…", "ж".repeat(80)));
    }

    #[test]
    fn columns_stand_side_by_side() {
        let shown = table(
            &["name", "n"],
            &[1],
            vec![
                vec!["a".to_owned(), "1".to_owned()],
                vec!["bcd".to_owned(), "10".to_owned()],
            ],
        );
        assert_eq!(shown, " NAME   N\n a      1\n bcd   10");
    }
}
