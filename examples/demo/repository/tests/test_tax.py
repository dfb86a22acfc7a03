import unittest

from orderdesk.tax import vat


class VatTest(unittest.TestCase):
    def test_whole_amounts(self):
        self.assertEqual(vat(1000, 19), 190)

    def test_less_than_half_is_rounded_down(self):
        self.assertEqual(vat(107, 19), 20)

    def test_half_is_rounded_up(self):
        self.assertEqual(vat(250, 5), 13)

    def test_large_amounts_stay_exact(self):
        self.assertEqual(vat(10**18 + 100, 7), 7 * 10**16 + 7)
