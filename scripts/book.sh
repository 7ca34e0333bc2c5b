#!/bin/sh
# Builds the book into target/book/html. The pages of docs/ and the READMEs are chapters as they
# are: the source is laid out as the repository is, so their links hold in the book as well.
# Exit codes: 0 ok, 1 failed or a warning, 77 mdbook is not installed.
set -eu
cd "$(dirname "$0")/.."
if ! command -v mdbook >/dev/null; then
    echo "left out: mdbook is not installed (cargo install --locked mdbook)"
    exit 77
fi
stage=target/book
rm -rf "$stage"
mkdir -p "$stage/src"
git ls-files -z --cached --others --exclude-standard -- '*.md' 'LICENSE-*' book docs contrib \
    scripts crates examples |
    tar --null --files-from=- -chf - | tar -xf - -C "$stage/src"
mv "$stage/src/book/book.toml" "$stage/book.toml"
# Its links are relative to book/, as in all pages; mdbook requires them relative to the root.
sed -E 's,\]\(([^.][^)]*\.md)\),](book/\1),; s,\]\(\.\./,](,' "$stage/src/book/SUMMARY.md" \
    >"$stage/src/SUMMARY.md"
rm "$stage/src/book/SUMMARY.md"
# Other pages become chapters at the end, so that no link to them is dead.
(cd "$stage/src" && find docs crates examples -name '*.md' -not -path '*/tests/*' | sort) |
    while read -r page; do
    grep -qF "]($page)" "$stage/src/SUMMARY.md" && continue
    title=$(sed -n 's/^# //p' "$stage/src/$page" | head -n 1)
    [ -n "$title" ] || continue
    printf '%s [%s](%s)\n' - "$title" "$page" >>"$stage/src/more"
done
if [ -s "$stage/src/more" ]; then
    { printf '\n# More\n\n'; cat "$stage/src/more"; } >>"$stage/src/SUMMARY.md"
    rm "$stage/src/more"
fi
if ! mdbook build "$stage" >"$stage/said" 2>&1 || grep -qE 'WARN|ERROR' "$stage/said"; then
    cat "$stage/said" >&2
    exit 1
fi
# mdbook's copy of the first chapter at the root would have links relative to the root.
cat >"$stage/html/index.html" <<'END'
<!doctype html><meta charset="utf-8"><title>taut</title>
<meta http-equiv="refresh" content="0; url=book/introduction.html">
<a href="book/introduction.html">The book</a>
END
echo "$stage/html/index.html"
