"""Windows that a file sets while the job runs. All ranks record the same steps, or none."""

import json
import os
import random
import unittest

import support

from profwrap import _windows


class Rank:
    """The steps that one rank recorded, and its messages. The test sets its clock."""

    def __init__(self, test, number, size, poll_s=2):
        self.recorded, self.said, self.others = [], [], []
        self.step, self.now, self._is_on = -1, 0.0, False
        file = _windows.ConfigFile(test.path("config.json"), self.said.append)
        self.monitor = _windows.Monitor(
            file, poll_s, lambda: _windows.Agreement(test.tmp, number, size), self.switch,
            self.said.append, self.others.append)
        self.monitor.poll(0, now=0.0)

    def switch(self, is_on):
        assert is_on != self._is_on
        self._is_on = is_on

    def run(self, seconds=1.0, steps=1):
        for _ in range(steps):
            self.now, self.step = self.now + seconds, self.step + 1
            self.monitor.before_step(self.step, now=self.now)
            if self._is_on:
                self.recorded.append(self.step)


class WindowsTest(support.TempDirTest):
    def write(self, text):
        """Writes the file as an editor does: a new file replaces the old one."""
        with open(self.path("new"), "w", encoding="utf-8") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        os.replace(self.path("new"), self.path("config.json"))

    def window(self, first, last, **others):
        self.write({"start_step": first, "stop_step": last, **others})

    def test_without_a_file_nothing(self):
        rank = Rank(self, 0, 1)
        rank.run(steps=20)
        self.assertEqual((rank.recorded, rank.said), ([], []))

    def test_windows_one_after_another(self):
        self.window(2, 5)
        rank = Rank(self, 0, 1)
        rank.run(steps=8)
        self.window(12, 12)
        rank.run(steps=8)
        self.window(-1, -1)
        rank.run(steps=5)
        self.assertEqual(rank.recorded, [2, 3, 4, 5, 12])
        self.assertEqual(rank.said, ["records steps 2 to 5 of the file", "records step 12 of the file"])

    def test_a_window_that_is_withdrawn(self):
        self.window(10, 12)
        ranks = [Rank(self, n, 2) for n in range(2)]
        for _ in range(5):
            for rank in ranks:
                rank.run()
        self.window(-1, -1)
        for _ in range(20):
            for rank in ranks:
                rank.run()
        self.assertEqual([rank.recorded for rank in ranks], [[], []])

    def test_a_rank_that_reads_late_moves_the_window(self):
        ranks = [Rank(self, n, 3) for n in range(3)]
        for rank in ranks:
            rank.run(steps=3)
        self.window(5, 7)
        for rank in ranks[:2]:
            rank.run(steps=4)  # the third one does not yet know when step 5 begins
        for _ in range(30):
            for rank in ranks:
                rank.run()
        self.assertEqual(len(ranks[0].recorded), 3)
        self.assertGreater(ranks[0].recorded[0], 5)
        for rank in ranks[1:]:
            self.assertEqual(rank.recorded, ranks[0].recorded)
        self.assertIn("and not steps 5 to 7: some ranks had not read of it before", ranks[0].said[0])

    def test_a_window_in_the_past_comes_later(self):
        rank = Rank(self, 0, 1)
        rank.run(steps=30)
        self.window(4, 6)
        rank.run(steps=30)
        self.assertEqual(len(rank.recorded), 3)
        self.assertGreater(rank.recorded[0], 30)

    def test_a_rank_that_never_reads_ends_it(self):
        """The file system of one rank does not show it the file."""
        self.window(5, 7)
        rank = Rank(self, 0, 2)
        rank.run(steps=500)
        self.assertEqual(rank.recorded, [])
        self.assertIn("does not record", rank.said[-1])

    def test_the_same_steps_on_all_ranks_whatever_the_order(self):
        for seed in range(60):
            with self.subTest(seed=seed):
                self.race(random.Random(seed))

    def race(self, chance):
        """Ranks run steps in any order, at most `most` steps apart, while the file changes."""
        for name in os.listdir(self.tmp):
            os.unlink(self.path(name))
        ranks = [Rank(self, n, 4) for n in range(4)]
        most, end = chance.choice((1, 2, 10)), chance.randrange(60, 200)
        while min(rank.step for rank in ranks) < end:
            lowest = min(rank.step for rank in ranks)
            ready = [rank for rank in ranks if rank.step < lowest + most]
            chance.choice(ready).run(chance.choice((0.1, 1, 3)), chance.choice((1, 1, most)))
            if chance.random() < 0.03:
                first = max(rank.step for rank in ranks) + chance.randrange(-5, 20)
                self.window(max(first, 0), max(first, 0) + chance.randrange(6))
            elif chance.random() < 0.005:
                self.window(-1, -1)
        seen = [{step for step in rank.recorded if step <= end} for rank in ranks]
        self.assertEqual(seen, [seen[0]] * 4)
        self.counted = getattr(self, "counted", 0) + len(seen[0])

    def test_the_race_records_something(self):
        for seed in range(20):
            self.race(random.Random(seed))
        self.assertGreater(self.counted, 50)

    def test_a_damaged_file_is_said_once_and_read_when_it_is_whole(self):
        rank = Rank(self, 0, 1)
        for text in ('{"start_step": 8, "stop_', "[1, 2]", "", "[" * 100000, "\x00\xff"):
            self.write(text)
            rank.run(steps=1, seconds=2)
        self.assertEqual(len(rank.said), 1, rank.said)
        self.assertIn("is ignored until it is whole", rank.said[0])
        self.window(8, 9)
        rank.run(steps=8, seconds=2)
        self.assertEqual(rank.recorded, [8, 9])

    def test_a_file_that_grows_in_place(self):
        rank = Rank(self, 0, 1)
        with open(self.path("config.json"), "w", encoding="utf-8") as file:
            file.write('{"start_step": 5,')
            file.flush()
            rank.run(seconds=2)
            file.write('"stop_step": 6}')
        rank.run(steps=9, seconds=2)
        self.assertEqual(rank.recorded, [5, 6])

    def test_numbers_that_are_no_window(self):
        self.window(2, 3)
        rank = Rank(self, 0, 1)
        for first, last in ((6, 4), ("6", 8), (True, 8), (None, None), (6, 7.5)):
            self.window(first, last)
            rank.run(seconds=2)
        self.assertEqual(rank.recorded, [2, 3])
        self.assertEqual(sum("are no window" in text for text in rank.said), 1)

    def test_other_settings_are_shown(self):
        self.window(-1, -1, l2_cache=True)
        rank = Rank(self, 0, 1)
        rank.run(steps=10)
        self.assertEqual([settings["l2_cache"] for settings in rank.others], [True])


if __name__ == "__main__":
    unittest.main(verbosity=2)
