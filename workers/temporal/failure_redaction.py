"""Turns an error into a failure for a history, without text that looks like a secret.

An exception's text may quote a command's output, a URL or a file. Every failure of every Blue
Flame process goes through here, including causes and stack traces.
"""

from temporalio.api.failure.v1 import Failure
from temporalio.converter import DefaultFailureConverter, PayloadConverter

from workflows.policy.text.secret_patterns import without_secrets


class Redacting(DefaultFailureConverter):
    """The SDK's own converter, with secrets replaced by their kind."""

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """See the base class, which calls this again for each cause."""
        super().to_failure(exception, payload_converter, failure)
        failure.message = without_secrets(failure.message)
        failure.stack_trace = without_secrets(failure.stack_trace)


class Sealed(Redacting):
    """The same, with message and stack trace where the codec encrypts them."""

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """See the base class; writes the form that `DefaultFailureConverter` reads."""
        super().to_failure(exception, payload_converter, failure)
        if failure.HasField("encoded_attributes"):
            return  # from another process, already sealed
        attributes = {"message": failure.message, "stack_trace": failure.stack_trace}
        failure.encoded_attributes.CopyFrom(payload_converter.to_payloads([attributes])[0])
        failure.message = "Encoded failure"
        failure.stack_trace = ""
