import unittest

from orderdesk.currencies import UnknownCurrencyError, digits_of, sign_of


class CurrenciesTest(unittest.TestCase):
    def test_each_currency_has_its_sign(self):
        self.assertEqual(sign_of("EUR"), "€")

    def test_an_unknown_currency_is_named(self):
        with self.assertRaisesRegex(UnknownCurrencyError, "'XTS'"):
            sign_of("XTS")

    def test_most_currencies_have_two_digits(self):
        self.assertEqual([digits_of(code) for code in ("CHF", "EUR", "USD")], [2, 2, 2])

    def test_yen_have_no_digits(self):
        self.assertEqual(digits_of("JPY"), 0)

    def test_digits_of_an_unknown_currency_are_refused(self):
        with self.assertRaises(UnknownCurrencyError):
            digits_of("XTS")
