"""The providers' wire formats: neutral messages to their JSON and back, and their streams.

No module here sends a request.
"""
