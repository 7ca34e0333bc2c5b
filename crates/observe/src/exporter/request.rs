//! The first line of an HTTP request; the rest is ignored.

/// A longer request is rejected.
pub const MAX_REQUEST_BYTES: usize = 4096;

/// A page of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// The metrics.
    Metrics,
    /// A link to the metrics.
    Root,
}

/// A request for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub page: Page,
    /// Respond without a body.
    pub head_only: bool,
}

/// Parses the bytes received so far; `None` if the request is incomplete.
///
/// # Errors
/// The status of the response to anything else than a request for a page.
pub fn parse(bytes: &[u8]) -> Option<Result<Request, &'static str>> {
    let has = |end: &[u8]| bytes.windows(end.len()).any(|at| at == end);
    if has(b"\r\n\r\n") || has(b"\n\n") {
        return Some(parse_whole(bytes));
    }
    (bytes.len() >= MAX_REQUEST_BYTES).then_some(Err("431 Request Header Fields Too Large"))
}

fn parse_whole(bytes: &[u8]) -> Result<Request, &'static str> {
    let line = bytes.split(|&byte| byte == b'\n').next();
    let line = std::str::from_utf8(line.unwrap_or_default()).map_err(|_| "400 Bad Request")?;
    let words: Vec<&str> = line.trim_end().split(' ').collect();
    let [method, target, "HTTP/1.0" | "HTTP/1.1"] = words[..] else {
        return Err("400 Bad Request");
    };
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err("405 Method Not Allowed"),
    };
    let page = match target.split('?').next() {
        Some("/metrics") => Page::Metrics,
        Some("/") => Page::Root,
        _ => return Err("404 Not Found"),
    };
    Ok(Request { page, head_only })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_are_distinguished() {
        let request = |page, head_only| Some(Ok(Request { page, head_only }));
        let get = request(Page::Metrics, false);
        for (text, expected) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", get),
            ("GET /metrics?x=1 HTTP/1.0\n\n", get),
            (
                "HEAD /metrics HTTP/1.1\r\n\r\n",
                request(Page::Metrics, true),
            ),
            ("GET / HTTP/1.1\r\n\r\n", request(Page::Root, false)),
            ("GET /metrics HTTP/1.1\r\n", None),
            ("", None),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                Some(Err("405 Method Not Allowed")),
            ),
            (
                "GET /etc/passwd HTTP/1.1\r\n\r\n",
                Some(Err("404 Not Found")),
            ),
            ("GET /metrics\r\n\r\n", Some(Err("400 Bad Request"))),
            ("\r\n\r\n", Some(Err("400 Bad Request"))),
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text:?}");
        }
        let endless = vec![b'a'; MAX_REQUEST_BYTES];
        assert!(matches!(parse(&endless), Some(Err(text)) if text.starts_with("431")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = parse(&[&bytes[..], b"\r\n\r\n"].concat());
        }
    }
}
