//! The first line of an HTTP request; the rest is ignored.

/// A longer request is rejected.
pub const MAX_REQUEST_BYTES: usize = 4096;

/// A request, as far as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// It is incomplete.
    Partial,
    /// The page of metrics.
    Metrics {
        /// Respond without a body.
        head_only: bool,
    },
    /// A page with a link to the metrics.
    Root {
        /// Respond without a body.
        head_only: bool,
    },
    /// Anything else, with the status of the response.
    Rejected(&'static str),
}

/// Parses the bytes received so far.
pub fn parse(bytes: &[u8]) -> Request {
    let ended = [&b"\r\n\r\n"[..], b"\n\n"]
        .iter()
        .any(|end| bytes.windows(end.len()).any(|at| at == *end));
    if !ended {
        return match bytes.len() < MAX_REQUEST_BYTES {
            true => Request::Partial,
            false => Request::Rejected("431 Request Header Fields Too Large"),
        };
    }
    let line = bytes
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else {
        return Request::Rejected("400 Bad Request");
    };
    let mut words = line.trim_end().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some("HTTP/1.0" | "HTTP/1.1"), None) =
        (method, target, version, words.next())
    else {
        return Request::Rejected("400 Bad Request");
    };
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Request::Rejected("405 Method Not Allowed"),
    };
    match target.split('?').next() {
        Some("/metrics") => Request::Metrics { head_only },
        Some("/") => Request::Root { head_only },
        _ => Request::Rejected("404 Not Found"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_are_distinguished() {
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
                Request::Rejected("405 Method Not Allowed"),
            ),
            (
                "GET /etc/passwd HTTP/1.1\r\n\r\n",
                Request::Rejected("404 Not Found"),
            ),
            ("GET /metrics\r\n\r\n", Request::Rejected("400 Bad Request")),
            ("\r\n\r\n", Request::Rejected("400 Bad Request")),
        ] {
            assert_eq!(parse(text.as_bytes()), request, "{text:?}");
        }
        let endless = vec![b'a'; MAX_REQUEST_BYTES];
        assert!(matches!(parse(&endless), Request::Rejected(text) if text.starts_with("431")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = parse(&[&bytes[..], b"\r\n\r\n"].concat());
        }
    }
}
