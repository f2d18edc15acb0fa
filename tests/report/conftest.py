import pytest
from report_runs import demo_like

from kindset.report import write_report


@pytest.fixture(scope="session")
def demo_runs():
    return demo_like()


@pytest.fixture(scope="session")
def demo_report(demo_runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(demo_runs, path, title="A <b>demo</b> & more")
    return path
