import unittest

from orderdesk.discounts import flat_off, volume_off


class FlatDiscountTest(unittest.TestCase):
    def test_it_is_taken_off(self):
        self.assertEqual(flat_off(1000, 250), 750)

    def test_the_total_never_goes_below_zero(self):
        self.assertEqual(flat_off(200, 250), 0)


class VolumeDiscountTest(unittest.TestCase):
    def test_few_pieces_get_nothing(self):
        self.assertEqual(volume_off(1000, 9), 1000)

    def test_ten_pieces_get_five_percent(self):
        self.assertEqual(volume_off(1000, 10), 950)

    def test_fifty_pieces_get_ten_percent(self):
        self.assertEqual(volume_off(1000, 50), 900)

    def test_what_is_taken_off_is_rounded_down(self):
        self.assertEqual(volume_off(1019, 10), 969)
