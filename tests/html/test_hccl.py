"""What HCCL measured, on the page Collectives, of an imported job of Ascend's devices.
test_hccl.py CASE...   test_hccl.py --list"""
import os
import sys

import browser as b
import harness as h

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "import"))
from ascend_profiles import Job, write_job  # noqa: E402


@h.case
def the_slow_link_comes_first():
    job = Job(ranks=4, slow_rank=2, slow_link=(1, 2))
    os.mkdir("profiles")
    write_job(job, "profiles")
    h.run(h.profwrap("import", "-o", "out", "profiles"))
    h.run(h.profwrap("merge", "-q", "out"))
    hccl = b.report_of("out")["hccl"]
    with b.chromium() as browser:
        b.visit(browser, b.page_of("out", "page"), "collectives")
        links = b.rows(browser, "HCCL: links between ranks")
        h.equal([tuple(map(int, row[:2])) for row in links],
                [(row["src"], row["dst"]) for row in hccl["links"]], "links in their order")
        h.equal(links[0][:3], ["1", "2", "HCCS"], "the slow link")
        h.equal(links[0][8], f"{hccl['links'][0]['slowness']:.2f}", "how slow it is")
        ranks = b.rows(browser, "HCCL: times of each rank")
        h.equal([(int(row[0]), int(row[2])) for row in ranks],
                [(row["rank"], row["operations"]) for row in hccl["ranks"]], "ranks")
        b.check_quiet(browser, "collectives")
        b.shoot(browser, "hccl", whole=True)


@h.case
def other_jobs_have_no_hccl():
    with b.chromium() as browser:
        b.visit(browser, b.page_of(b.run("even"), "page"), "collectives")
        h.check("HCCL" not in b.text(browser, "#main"), "a job without HCCL shows it")
        b.check_quiet(browser, "collectives")


sys.exit(h.main(sys.argv[1:]))
