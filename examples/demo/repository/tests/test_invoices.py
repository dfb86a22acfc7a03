import unittest

from orderdesk.invoices import WIDTH, render
from orderdesk.orders import Line, Order


class InvoicesTest(unittest.TestCase):
    order = Order("EUR", (Line("Notebook", 3, 490), Line("Pen", 10, 120)))

    def test_it_reads_as_a_table(self):
        rows = [
            "Invoice 2026-0042",
            "",
            "3 x Notebook                     14.70 €",
            "10 x Pen                         12.00 €",
            "Net                              26.70 €",
            "VAT 19 %                          5.07 €",
            "Total                            31.77 €",
        ]
        self.assertEqual(render("2026-0042", self.order, 19).splitlines(), rows)

    def test_rows_have_one_width(self):
        rows = render("2026-0042", self.order, 19).splitlines()[2:]
        self.assertEqual({len(row) for row in rows}, {WIDTH})
