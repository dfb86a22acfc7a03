"""The paperwork of a small shop: orders, discounts, tax, invoice numbers and invoices."""
