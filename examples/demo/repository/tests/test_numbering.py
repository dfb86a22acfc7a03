import unittest

from orderdesk.numbering import next_number


class NumberingTest(unittest.TestCase):
    def test_the_first_of_all(self):
        self.assertEqual(next_number(None, 2026), "2026-0001")

    def test_it_runs_on_within_the_year(self):
        self.assertEqual(next_number("2026-0041", 2026), "2026-0042")

    def test_it_begins_anew_with_the_year(self):
        self.assertEqual(next_number("2026-0041", 2027), "2027-0001")

    def test_it_grows_beyond_four_digits(self):
        self.assertEqual(next_number("2026-9999", 2026), "2026-10000")

    def test_what_is_no_number_is_refused(self):
        with self.assertRaisesRegex(ValueError, "'draft'"):
            next_number("draft", 2026)

    def test_an_earlier_year_is_refused(self):
        with self.assertRaises(ValueError):
            next_number("2027-0001", 2026)
