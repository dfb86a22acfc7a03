import unittest

from orderdesk.orders import Line, Order, line_total, net


class OrdersTest(unittest.TestCase):
    def test_a_line_costs_its_quantity(self):
        self.assertEqual(line_total(Line("Notebook", 3, 490)), 1470)

    def test_net_adds_all_lines(self):
        order = Order("EUR", (Line("Notebook", 3, 490), Line("Pen", 10, 120)))
        self.assertEqual(net(order), 2670)

    def test_an_empty_order_costs_nothing(self):
        self.assertEqual(net(Order("EUR", ())), 0)
