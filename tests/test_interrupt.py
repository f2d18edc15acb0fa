import os
import signal
import threading

import pytest

from kindset._interrupt import check_interrupt, held_interrupts


def test_noted_until_looked_for(ctrl_c):
    with held_interrupts():
        signal.raise_signal(signal.SIGINT)
        with held_interrupts():  # shares the note
            pass
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
    check_interrupt()  # nothing is left of it
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupted(times, error=None):
    with held_interrupts():
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        if error is not None:
            raise error


def test_raised_at_the_end_if_nobody_looked(ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        interrupted(1)


def test_second_one_raises_at_once(ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        interrupted(2, error=AssertionError("the second interrupt was lost"))


def test_an_error_inside_is_not_hidden(ctrl_c):
    with pytest.raises(ZeroDivisionError):
        interrupted(1, error=ZeroDivisionError())
    check_interrupt()


def test_own_handlers_are_left_alone():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    try:
        with held_interrupts():
            signal.raise_signal(signal.SIGINT)
            check_interrupt()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [True]


def test_other_threads_see_the_note(ctrl_c):
    seen = []

    def work():
        with held_interrupts():
            while not seen:
                try:
                    check_interrupt()
                except KeyboardInterrupt:
                    seen.append(True)

    with held_interrupts():
        thread = threading.Thread(target=work)
        thread.start()
        os.kill(os.getpid(), signal.SIGINT)
        thread.join(60)
    assert seen == [True]
