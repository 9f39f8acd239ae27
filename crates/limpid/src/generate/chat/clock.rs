//! `strftime_now`: the date in a prompt.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A time in UTC as `strftime` writes it: the directives of dates and times; others stay as they
/// are.
pub(super) fn strftime(time: SystemTime, format: &str) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let day_of_year = days - days_before(year) + 1;
    let weekday = (days + 4) % 7;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let hour12 = (hour + 11) % 12 + 1;
    let (month_name, day_name) = (MONTHS[month as usize - 1], DAYS[weekday as usize]);
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut directive = chars.next();
        // GNU's flag: without leading zeros.
        let bare = directive == Some('-');
        if bare {
            directive = chars.next();
        }
        let width = |width: usize| if bare { 0 } else { width };
        let _ = match directive {
            Some('Y') => write!(out, "{year:0w$}", w = width(4)),
            Some('y') => write!(out, "{:0w$}", year % 100, w = width(2)),
            Some('m') => write!(out, "{month:0w$}", w = width(2)),
            Some('d') => write!(out, "{day:0w$}", w = width(2)),
            Some('e') => write!(out, "{day:w$}", w = width(2)),
            Some('j') => write!(out, "{day_of_year:0w$}", w = width(3)),
            Some('H') => write!(out, "{hour:0w$}", w = width(2)),
            Some('I') => write!(out, "{hour12:0w$}", w = width(2)),
            Some('M') => write!(out, "{minute:0w$}", w = width(2)),
            Some('S') => write!(out, "{:0w$}", second % 60, w = width(2)),
            Some('p') => write!(out, "{}", if hour < 12 { "AM" } else { "PM" }),
            Some('B') => write!(out, "{month_name}"),
            Some('b' | 'h') => write!(out, "{}", &month_name[..3]),
            Some('A') => write!(out, "{day_name}"),
            Some('a') => write!(out, "{}", &day_name[..3]),
            Some('w') => write!(out, "{weekday}"),
            Some('F') => write!(out, "{year:04}-{month:02}-{day:02}"),
            Some('D') => write!(out, "{month:02}/{day:02}/{:02}", year % 100),
            Some('T') => write!(out, "{hour:02}:{minute:02}:{:02}", second % 60),
            Some('R') => write!(out, "{hour:02}:{minute:02}"),
            Some('%') => write!(out, "%"),
            Some(other) => write!(out, "%{}{other}", if bare { "-" } else { "" }),
            None => write!(out, "%"),
        };
    }
    out
}

/// Days from 1970 to the first of January of a year.
fn days_before(year: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
}

/// Year, month (from 1) and day (from 1) of a day since 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    let mut year = 1970 + days / 366;
    while days_before(year + 1) <= days {
        year += 1;
    }
    let leap = days_before(year + 1) - days_before(year) == 366;
    let mut day = days - days_before(year);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let cases = [
            (0, "Thursday, 01 January 1970, day 001, 00:00:00 12 AM"),
            (951_782_400, "Tuesday, 29 February 2000, day 060, 00:00:00 12 AM"),
            (1_721_995_323, "Friday, 26 July 2024, day 208, 12:02:03 12 PM"),
            (4_107_542_399, "Sunday, 28 February 2100, day 059, 23:59:59 11 PM"),
        ];
        for (seconds, text) in cases {
            assert_eq!(strftime(at(seconds), "%A, %d %B %Y, day %j, %H:%M:%S %I %p"), text);
        }
        assert_eq!(strftime(at(0), "%-d %b %y %e %% %Q %"), "1 Jan 70  1 % %Q %");
    }
}
