"""Tests of the reader: each case is what a simpler one would get wrong."""

import os
import tempfile
import unittest

from . import items, lexer, modules


def texts(source):
    return [token.text for token in lexer.product(lexer.tokens(source))]


def lines(source):
    return len(lexer.code_lines(lexer.product(lexer.tokens(source))))


def named(source, kind):
    return {item.name: item for item in items.read(source).items if item.kind == kind}


class Lexer(unittest.TestCase):
    def test_comments_nest_and_strings_hide_them(self):
        self.assertEqual(texts('a /* b /* c */ d */ "//" // e'), ["a", '"//"'])

    def test_raw_strings_end_at_their_hashes(self):
        self.assertEqual(texts('r#"a"b"# c'), ['r#"a"b"#', "c"])
        self.assertEqual(texts('br"\\" r#type'), ['br"\\"', "type"])

    def test_char_is_not_lifetime(self):
        kinds = [token.kind for token in lexer.tokens("'a' 'a '\\'' b'\"' '\\u{1F}'")]
        self.assertEqual(kinds, ["char", "lifetime", "char", "char", "char"])

    def test_ranges_and_tuple_fields_are_no_fractions(self):
        self.assertEqual(
            texts("1..2 1.5e3 x.0.y"), ["1", "..", "2", "1.5e3", "x", ".", "0", ".", "y"]
        )

    def test_blank_and_comment_lines_do_not_count(self):
        self.assertEqual(lines("fn a() {\n\n    // why\n    b(); // c\n}\n/// doc\n"), 3)
        self.assertEqual(lines('let a = "one\ntwo";'), 2)


class TestsLeftOut(unittest.TestCase):
    def test_items_for_tests_are_left_out(self):
        self.assertEqual(
            texts("a!();\n#[cfg(test)]\nmod t { fn x() {} }\n#[cfg(loom)] use l; b!();"),
            ["a", "!", "(", ")", ";", "b", "!", "(", ")", ";"],
        )
        self.assertEqual(texts("#[cfg(all(test, not(loom)))] use a::{b, c}; d"), ["d"])
        self.assertEqual(texts("#![cfg(loom)] fn a() {}"), [])

    def test_alternatives_for_the_product_stay(self):
        self.assertIn("a", texts("#[cfg(not(test))] use a;"))
        self.assertIn("a", texts('#[cfg(any(test, feature = "x"))] use a;'))

    def test_fields_arms_and_functions_end_where_they_end(self):
        self.assertEqual(texts("{ #[cfg(test)] a: B<C>, d: E }"), ["{", "d", ":", "E", "}"])
        self.assertEqual(texts("#[cfg(test)] const fn a<B, C>() -> [u8; 2] { 1; 2 } d"), ["d"])
        self.assertEqual(texts("#[cfg(test)] #[allow(x)] const A: B = B { c: 1 }; d"), ["d"])


class Items(unittest.TestCase):
    def test_fields_are_counted_between_the_commas_of_their_depth(self):
        found = named(
            "struct A<T> where T: B { pub a: Map<K, V>, b: fn(u8, u8) -> u8, #[c(d, e)] f: u8 }"
            " struct P(u8, (u8, u8)); struct U;",
            "struct",
        )
        self.assertEqual([found[name].fields for name in "APU"], [3, 2, 0])

    def test_methods_know_their_type_trait_and_receiver(self):
        found = named(
            "impl<'a, T: for<'b> F<'b>> x::Tr<T> for &'a y::Ty<T> { fn a(&'a mut self) {} }"
            "impl Ty { pub const fn b(mut self) {} fn c(self_: u8) {} }",
            "fn",
        )
        self.assertEqual(
            (found["a"].owner, found["a"].of_trait, found["a"].receiver), ("Ty", "Tr", "mut")
        )
        self.assertEqual(
            (found["b"].receiver, found["b"].public, found["c"].receiver), ("value", True, "")
        )

    def test_uses_are_split_into_paths(self):
        found = items.read("use a::{self, b::{C as D, *}}; pub(crate) use e::F;").uses
        self.assertEqual(
            [(use.path, use.name, use.exported) for use in found],
            [
                (("a",), "a", False),
                (("a", "b", "C"), "D", False),
                (("a", "b"), "*", False),
                (("e", "F"), "F", True),
            ],
        )

    def test_functions_count_their_lines_of_code(self):
        source = "fn a(\n    b: u8,\n) {\n    // c\n\n    struct L;\n    d();\n}\n"
        self.assertEqual(named(source, "fn")["a"].length, 6)
        self.assertTrue(named(source, "struct")["L"].local is True)


class Circles(unittest.TestCase):
    def references(self, files):
        with tempfile.TemporaryDirectory() as directory:
            for name, source in files.items():
                path = os.path.join(directory, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(source)
            edges = modules.Target(os.path.join(directory, "lib.rs")).references()
            short = lambda path: os.path.relpath(path, directory)
            return {
                short(file): {short(other) for other in others} for file, others in edges.items()
            }

    def test_parent_does_not_depend_on_what_it_exports(self):
        edges = self.references(
            {
                "lib.rs": "mod a; pub use a::A; pub struct Root;",
                "a.rs": "use super::Root; pub struct A(Root);",
            }
        )
        self.assertEqual(edges, {"lib.rs": set(), "a.rs": {"lib.rs"}})
        self.assertEqual(modules.circles(edges), [])

    def test_use_through_an_export_means_the_definition(self):
        edges = self.references(
            {
                "lib.rs": "mod a; mod b; pub use a::inner::A;",
                "a/mod.rs": "pub mod inner;",
                "a/inner.rs": "pub struct A; use crate::b::*; fn f(b: B) {}",
                "b.rs": "pub struct B; fn f() { crate::A; }",
            }
        )
        self.assertEqual(edges["b.rs"], {"a/inner.rs"})
        self.assertEqual(modules.circles(edges), [["a/inner.rs", "b.rs"]])

    def test_variants_fields_and_tests_are_no_references(self):
        edges = self.references(
            {
                "lib.rs": "mod a; use a::A; pub enum E { A(u8) }",
                "a.rs": "pub struct A; enum L { E } #[cfg(test)] mod tests { use crate::E; }",
            }
        )
        self.assertEqual(edges["a.rs"], set())

    def test_macros_refer_to_the_file_that_defines_them(self):
        edges = self.references(
            {
                "lib.rs": "#[macro_use] mod m; mod a;",
                "m.rs": "macro_rules! make { () => { $crate::a::A } }",
                "a.rs": "pub struct A; make!();",
            }
        )
        self.assertEqual(modules.circles(edges), [["a.rs", "m.rs"]])


def run():
    suite = unittest.defaultTestLoader.loadTestsFromName(__name__)
    return 0 if unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful() else 1
