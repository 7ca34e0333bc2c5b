//! The first line of an HTTP request: all that matters here.

/// No request is longer; one that is, is refused.
pub const MOST_BYTES: usize = 4096;

/// What is asked for, as far as it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// More is to come.
    Partial,
    /// The figures.
    Metrics {
        /// Only the head of the answer.
        head_only: bool,
    },
    /// The page that says where the figures are.
    Root {
        /// Only the head of the answer.
        head_only: bool,
    },
    /// Something else, and what to answer.
    Refused(&'static str),
}

/// Reads what has come so far.
pub fn parse(bytes: &[u8]) -> Request {
    let ended = [&b"\r\n\r\n"[..], b"\n\n"]
        .iter()
        .any(|end| bytes.windows(end.len()).any(|at| at == *end));
    if !ended {
        return match bytes.len() < MOST_BYTES {
            true => Request::Partial,
            false => Request::Refused("431 Request Header Fields Too Large"),
        };
    }
    let line = bytes
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else {
        return Request::Refused("400 Bad Request");
    };
    let mut words = line.trim_end().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some("HTTP/1.0" | "HTTP/1.1"), None) =
        (method, target, version, words.next())
    else {
        return Request::Refused("400 Bad Request");
    };
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Request::Refused("405 Method Not Allowed"),
    };
    match target.split('?').next() {
        Some("/metrics") => Request::Metrics { head_only },
        Some("/") => Request::Root { head_only },
        _ => Request::Refused("404 Not Found"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_asked_for() {
        let get = Request::Metrics { head_only: false };
        for (text, request) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", get),
            ("GET /metrics?x=1 HTTP/1.0\n\n", get),
            (
                "HEAD /metrics HTTP/1.1\r\n\r\n",
                Request::Metrics { head_only: true },
            ),
            ("GET / HTTP/1.1\r\n\r\n", Request::Root { head_only: false }),
            ("GET /metrics HTTP/1.1\r\n", Request::Partial),
            ("", Request::Partial),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                Request::Refused("405 Method Not Allowed"),
            ),
            (
                "GET /etc/passwd HTTP/1.1\r\n\r\n",
                Request::Refused("404 Not Found"),
            ),
            ("GET /metrics\r\n\r\n", Request::Refused("400 Bad Request")),
            ("\r\n\r\n", Request::Refused("400 Bad Request")),
        ] {
            assert_eq!(parse(text.as_bytes()), request, "{text:?}");
        }
        let endless = vec![b'a'; MOST_BYTES];
        assert!(matches!(parse(&endless), Request::Refused(text) if text.starts_with("431")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = parse(&[&bytes[..], b"\r\n\r\n"].concat());
        }
    }
}
