import unittest

from orderdesk.amounts import format_amount


class AmountsTest(unittest.TestCase):
    def test_cents_follow_the_point(self):
        self.assertEqual(format_amount(490, "EUR"), "4.90 €")

    def test_thousands_are_set_apart(self):
        self.assertEqual(format_amount(123450, "USD"), "1,234.50 $")

    def test_yen_have_no_point(self):
        self.assertEqual(format_amount(1500, "JPY"), "1,500 ¥")

    def test_a_refund_is_negative(self):
        self.assertEqual(format_amount(-5, "EUR"), "-0.05 €")
