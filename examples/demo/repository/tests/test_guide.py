import doctest
import unittest
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guide.md"


class GuideTest(unittest.TestCase):
    def test_its_examples_are_true(self):
        failed, _ = doctest.testfile(str(GUIDE), module_relative=False)
        self.assertEqual(failed, 0)

    def test_it_tells_of_amounts(self):
        self.assertIn("\n## Amounts\n", GUIDE.read_text(encoding="utf-8"))

    def test_it_tells_of_discounts(self):
        self.assertIn("\n## Discounts\n", GUIDE.read_text(encoding="utf-8"))
