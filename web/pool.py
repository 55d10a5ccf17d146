"""A few processes that solve, so that a slow position blocks nobody and can be given up.

A solver runs compiled code that nothing can interrupt from within. So each runs in a process of its own; one that is
over its time, or whose player is gone, is ended and replaced. A waiting process is kept ready, since starting one
takes a second or two. Tasks that are known to be long never take the last process, so that the others get theirs at
once.
"""

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from web.validation import RefusedError

_ROOT = Path(__file__).resolve().parent.parent
_GRACE = 1.0  # seconds that an abandoned task may go on
_LONGEST_ANSWER = 2**24  # bytes
_LOADING = 600.0  # seconds for the first use of a solver, which may compile its kernels
_PATIENCE = 5.0  # seconds that a request waits for that; it goes on, so that a later one finds it done
_NOT_READY = "the solver is being made ready, which may take a minute the first time"
_BUSY = "all solvers are busy"
_RETRY_AFTER = 1  # seconds

Load = tuple[str, str, dict[str, Any]]  # a name, and the task and its inputs that make what has this name ready


class _Worker:
    """One process, which solvers are loaded there, and which one is being loaded."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.loaded: set[str] = set()
        self.loading: str | None = None
        self.is_killed = False

    @classmethod
    async def start(cls) -> "_Worker":
        command = [sys.executable, "-m", "web.worker"]
        return cls(await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, cwd=_ROOT, limit=_LONGEST_ANSWER
        ))  # fmt: skip

    async def ask(self, task: str, inputs: dict[str, Any]) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({"task": task, "inputs": inputs}).encode() + b"\n")
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line:
            raise RefusedError("the solver's process ended; it may have run out of memory", status=503)
        answer = json.loads(line)
        if "error" in answer:
            cell = answer.get("cell")
            raise RefusedError(answer["error"], answer["key"], answer["status"], cell and (cell[0], cell[1]))
        return answer["result"]

    async def load(self, name: str, task: str, inputs: dict[str, Any]) -> None:
        if name not in self.loaded:
            self.loading = name
            try:
                await asyncio.wait_for(self.ask(task, inputs), _LOADING)
            finally:
                self.loading = None
            self.loaded.add(name)

    async def end(self) -> None:
        if self.process.returncode is None and not self.is_killed:
            self.is_killed = True  # a second kill could take the exit status away from asyncio, which then complains
            self.process.kill()
        await self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


class Pool:
    """At most `size` processes; `async with` starts and ends them.

    Args:
        size: how many tasks run at once; more wait.
        limit: seconds for one task, and as long for a free process.
        first: what every process loads at its start, so that the commonest solver is ready.
    """

    def __init__(self, size: int, limit: float, first: Load) -> None:
        self.size, self.limit, self.first = size, limit, first
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._running: dict[_Worker, _Job] = {}
        self._loading: set[_Worker] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._waiting: list[_Job] = []  # in the order in which they came
        self._background: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> "Pool":
        self._start_one()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def end(self) -> None:
        """Gives up everything; whoever waits for an answer is refused."""
        self.size = 0  # none is started any more
        for job in self._waiting:
            job.turn.cancel()
        await asyncio.gather(*(worker.end() for worker in (*self._workers, *self._loading)))
        while tasks := [*self._starting, *self._background]:
            await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, task: str, inputs: dict[str, Any], load: Load | None = None, is_long: bool = False) -> Any:
        """The result of a task of `worker.TASKS`; cancelling this gives the task up.

        Args:
            load: what must be ready before the time runs.
            is_long: whether it may take seconds; it then leaves one process to the tasks that do not.

        Raises:
            RefusedError: the task refused its inputs; or, with status 503, it took too long, or (then with
                `retry_after`) no process was free or the solver is not ready yet.
        """
        job = _Job(task, inputs, load, is_long)
        work = self._in_background(self._work(await self._free_worker(job), job))
        try:
            async with asyncio.timeout(_PATIENCE) as job.patience:
                return await asyncio.shield(work)
        except TimeoutError:
            job.abandon()
            raise RefusedError(_NOT_READY, None, 503, retry_after=_RETRY_AFTER) from None
        except asyncio.CancelledError:
            job.abandon()
            raise

    async def _work(self, worker: _Worker, job: "_Job") -> Any:
        """Does a job and gives the process back, or ends it if that is not possible."""
        is_usable = False
        try:
            if job.load:
                await worker.load(*job.load)
                self._hand_out()
            job.is_ready()
            result = None
            if not job.is_abandoned:
                async with asyncio.timeout(self.limit) as job.clock:
                    result = await worker.ask(job.task, job.inputs)
            is_usable = True
        except TimeoutError:
            message = f"this took over {self.limit:g} seconds and was given up; another solver may be quicker"
            raise RefusedError(message, "solver", 503) from None
        except RefusedError as error:
            is_usable = error.status != 503
            raise
        finally:
            if not is_usable:
                self._workers.discard(worker)
                self._in_background(worker.end())
            self._give_back(worker)
        return result

    async def _free_worker(self, job: "_Job") -> _Worker:
        self._waiting.append(job)
        self._hand_out()
        is_ready = bool(self._workers) and not self._is_loading(job)
        worker = None
        try:
            worker = await asyncio.wait_for(job.turn, self.limit if is_ready else _PATIENCE)
            return worker
        except asyncio.CancelledError:
            if self.size:
                raise
            raise RefusedError("the server is ending", None, 503) from None
        except TimeoutError:
            message = _BUSY if is_ready else _NOT_READY
            raise RefusedError(message, None, 503, retry_after=_RETRY_AFTER) from None
        finally:
            if job in self._waiting:
                self._waiting.remove(job)
            elif worker is None:
                self._give_back(job.turn.result())  # it came just when nobody waited any more

    def _hand_out(self) -> None:
        """Gives idle processes to the tasks that wait, and has one started when all are needed."""
        for job in list(self._waiting):
            worker = None if job.turn.done() else self._idle_for(job)
            if worker is not None:
                self._waiting.remove(job)
                self._idle.remove(worker)
                self._running[worker] = job
                job.turn.set_result(worker)
        if (self._waiting or not self._idle) and not self._starting:
            self._start_one()  # so that the next one who asks finds one ready; two at once would compile the same

    def _idle_for(self, job: "_Job") -> _Worker | None:
        """An idle process for a job, best one where its solver is loaded; None if it has to wait."""
        ready = [worker for worker in self._idle if job.load is None or job.load[0] in worker.loaded]
        if not self._idle or ((job.is_long or not ready) and self._is_last_for_long()):
            return None
        if not ready and self._is_loading(job):
            return None  # two at once would compile the same
        return (ready or self._idle)[-1]

    def _is_loading(self, job: "_Job") -> bool:
        return job.load is not None and any(worker.loading == job.load[0] for worker in self._running)

    def _is_last_for_long(self) -> bool:
        """Whether one more long task, or solver to be made ready, would leave no process to the others."""
        num_long = sum(job.is_long or worker.loading is not None for worker, job in self._running.items())
        return self.size > 1 and num_long + 1 >= len(self._workers)

    def _give_back(self, worker: _Worker) -> None:
        del self._running[worker]
        if worker in self._workers:
            self._idle.append(worker)
        self._hand_out()

    def _start_one(self) -> None:
        if len(self._workers) + len(self._starting) < self.size:
            task = asyncio.create_task(self._start())
            self._starting.add(task)
            task.add_done_callback(self._started)

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting.discard(task)
        if task.exception() and self.size:
            print(f"a solving process could not be started: {task.exception()}", file=sys.stderr)
        else:
            self._hand_out()

    async def _start(self) -> None:
        worker = await _Worker.start()
        self._loading.add(worker)
        try:
            if self.size:  # not ended in the meantime
                await worker.load(*self.first)
                self._workers.add(worker)
                self._idle.append(worker)
        finally:
            self._loading.discard(worker)
            if worker not in self._workers:
                await worker.end()

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        task.add_done_callback(lambda task: task.cancelled() or task.exception())  # it may be that nobody asks for it
        return task


@dataclass(eq=False)
class _Job:
    """One task. Abandoned, it is ended soon, but not at once, since a new process costs more than most tasks."""

    task: str
    inputs: dict[str, Any]
    load: Load | None
    is_long: bool
    turn: asyncio.Future[_Worker] = field(default_factory=asyncio.Future)
    is_abandoned: bool = False
    patience: asyncio.Timeout | None = None
    clock: asyncio.Timeout | None = None

    def is_ready(self) -> None:
        if self.patience:
            with contextlib.suppress(RuntimeError):  # its time is up already
                self.patience.reschedule(None)

    def abandon(self) -> None:
        self.is_abandoned = True
        if self.clock:
            with contextlib.suppress(RuntimeError):
                self.clock.reschedule(asyncio.get_running_loop().time() + _GRACE)
