"""A worker's log says nothing of what libraries try again; in a process of its own."""

import subprocess
import sys

import pytest

from workers.temporal.connection import ServerAddress

PROGRAM = """
import asyncio, logging, sys
from datetime import timedelta

import anthropic, httpx2, openai
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from temporalio import activity, workflow
from temporalio.api.workflowservice.v1 import GetSystemInfoRequest
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.ports import kept_port
from workers.telemetry.library_noise import leave_out_noise
from workers.worker_log import write_log_to

write_log_to(sys.stderr)
leave_out_noise()


@activity.defn
async def expected() -> None:
    raise ApplicationError("the provider is away")


@activity.defn
async def unexpected() -> None:
    raise KeyError("a defect")


@workflow.defn
class Both:
    @workflow.run
    async def run(self) -> None:
        for each in (expected, unexpected):
            try:
                await workflow.execute_activity(
                    each,
                    start_to_close_timeout=timedelta(minutes=1),
                    retry_policy=RetryPolicy(
                        maximum_attempts=3, initial_interval=timedelta(milliseconds=1)
                    ),
                )
            except Exception:
                pass


async def main(address: str) -> None:
    with kept_port() as closed:
        url = f"http://127.0.0.1:{closed}"
        openais = openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=2)
        claude = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=2)
        said = [{"role": "user", "content": "hello"}]
        tried = 0
        for call in (
            httpx2.AsyncClient().get(url),
            openais.chat.completions.create(model="m", messages=said),
            claude.messages.create(model="m", messages=said, max_tokens=1),
        ):
            try:
                await call
            except Exception:
                tried += 1
        assert tried == 3
        for _ in range(2):  # each tries twice
            OTLPSpanExporter(endpoint=url, timeout=2).export([])
        away = await Client.connect(f"127.0.0.1:{closed}", lazy=True)
        try:
            await away.workflow_service.get_system_info(
                GetSystemInfoRequest(), retry=True, timeout=timedelta(seconds=1)
            )
        except (RPCError, RuntimeError):
            tried += 1
        assert tried == 4
    client = await Client.connect(address)
    async with Worker(
        client, task_queue="noise", workflows=[Both], activities=[expected, unexpected],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        await client.execute_workflow(Both.run, id="noise", task_queue="noise")
    logging.getLogger("httpx2").warning("a warning of a library")


asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.slow
def test_retries_of_libraries_are_not_logged(temporal_server: ServerAddress) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, temporal_server.address],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""
    first = [line for line in ran.stderr.splitlines() if line.startswith("20")]
    said = [" ".join(line.split(" ")[2:]) for line in first]
    assert [line.partition(": ")[0].split(".")[-1] for line in said] == [
        *("trace_exporter", "trace_exporter", "activity", "WARNING httpx2")
    ]
    assert "Connection refused" in said[0]
    assert "Failed to export" in said[1]
    assert "Completing activity as failed" in said[2]
    assert ran.stderr.count("KeyError: 'a defect'") == 1
    assert "the provider is away" not in ran.stderr
