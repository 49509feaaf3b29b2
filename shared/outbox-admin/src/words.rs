//! Numbers and names in words, for sentences that a person reads and commands that he copies.

/// An age: two units are as much as a person wants to know.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an age in seconds")]
pub fn age_in_words(seconds: f64) -> String {
    match seconds.max(0.0) as u64 {
        0 if seconds <= 0.0 => "-".to_owned(),
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min {} s", s / 60, s % 60),
        s @ 3_600..86_400 => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
        s => format!("{} d {} h", s / 86_400, s % 86_400 / 3_600),
    }
}

/// `1 message`, `2 messages`.
pub fn messages_in_words(n_messages: u64) -> String {
    format!("{n_messages} message{}", if n_messages == 1 { "" } else { "s" })
}

/// A name as a shell takes it: in quotes if it has to be.
pub fn for_a_shell(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:/@%+,-".contains(c);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        return name.to_owned();
    }
    if name.chars().any(char::is_control) {
        // In quotes a terminal would still obey them. Bash and zsh read this form.
        return format!("$'{}'", name.chars().map(escaped).collect::<String>());
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

fn escaped(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_at_most_two_units() {
        for (seconds, text) in [
            (0.0, "-"),
            (0.4, "0 s"),
            (59.9, "59 s"),
            (60.0, "1 min 0 s"),
            (3_725.0, "1 h 2 min"),
            (90_000.0, "1 d 1 h"),
        ] {
            assert_eq!(age_in_words(seconds), text);
        }
    }

    #[test]
    fn a_name_is_quoted_for_a_shell_only_where_it_has_to_be() {
        for (name, quoted) in [
            ("orders", "orders"),
            ("eu.orders-v1", "eu.orders-v1"),
            ("customer 7", "'customer 7'"),
            ("o'hara", r"'o'\''hara'"),
            ("*", "'*'"),
            ("-x", "'-x'"),
            ("x; touch y", "'x; touch y'"),
            ("it's\u{1b}[2J\\", r"$'it\'s\u001b[2J\\'"),
            ("", "''"),
        ] {
            assert_eq!(for_a_shell(name), quoted);
        }
    }
}
