"""The Python module against the program: the same rows, the same errors.  weft_python_test.py WEFT_BINARY"""
import csv
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import weft

PROGRAM = sys.argv.pop()
SCENARIO = {
    "schema": 1,
    "name": "both",
    "fabric": {"type": "bigraph", "switches": 4, "nodes_per_switch": 2, "link": {"bandwidth": "100Gbps", "latency": "500ns"}},
    "hardware": "eflops_simulator",
    "workload": {"algorithm": ["ring", "hdrm"], "size": ["64KiB", "1MiB"]},
    "sweep": {"/fabric/switches": [4, 8]},
}


class Run(unittest.TestCase):
    def test_rows_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "both.json")
            with open(file, "w") as out:
                out.write(__import__("json").dumps(SCENARIO))
            subprocess.run([PROGRAM, "run", file, "--quiet", "-o", os.path.join(folder, "out")], check=True, stdout=subprocess.DEVNULL)
            with open(os.path.join(folder, "out", "results.csv")) as table:
                lines = list(csv.DictReader(table))
            from_file = weft.run(file)
        rows = weft.run(SCENARIO, workers=1)
        self.assertEqual(len(rows), 8)
        for line, row, other in zip(lines, rows, from_file, strict=True):
            self.assertEqual(set(line), set(row))
            for column in set(line) - {"wall_s"}:
                self.assertEqual(line[column], "" if row[column] is None else str(row[column]), column)
                self.assertEqual(row[column], other[column])

    def test_rows_make_a_data_frame(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        frame = pandas.DataFrame(weft.run(SCENARIO))
        self.assertEqual(frame.groupby("algorithm")["time_us"].count().to_dict(), {"ring": 4, "hdrm": 4})

    def test_settings_come_before_the_sweep(self):
        rows = weft.run(SCENARIO, set={"/workload/algorithm": "ring", "/workload/size": "4KiB", "/sweep": {}})
        self.assertEqual([(row["algorithm"], row["size_bytes"]) for row in rows], [("ring", 4096)])

    def test_everything_that_is_wrong_is_said_at_once(self):
        wrong = dict(SCENARIO, hardware="ideel", network="flaw", sweep={})
        with self.assertRaises(weft.InputError) as caught:
            weft.run(wrong)
        self.assertIsInstance(caught.exception, ValueError)
        self.assertEqual(len(str(caught.exception).splitlines()), 2)
        self.assertIn('did you mean "ideal"', str(caught.exception))

    def test_an_interrupt_is_a_keyboard_interrupt(self):
        slow = dict(SCENARIO, workload={"algorithm": "ring", "size": "1MiB"}, sweep={"/seed": list(range(1, 40))},
                    fabric={"type": "star", "nodes": 512, "link": {"bandwidth": "100Gbps", "latency": "1us"}})
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            weft.run(slow, workers=1)


class Schedules(unittest.TestCase):
    def test_a_ring_of_four(self):
        ring = weft.schedule("ring", 4)
        self.assertEqual((ring.ranks, ring.steps, ring.messages, ring.chunks), (4, 6, 24, 4))
        self.assertEqual(len(ring.transfers), 24)
        self.assertEqual(ring.transfers[0], {"channel": 0, "step": 0, "from": 0, "to": 1, "chunk": 0, "count": 1, "into": 0, "reduces": True})

    def test_settings_collectives_and_fabrics(self):
        self.assertEqual(len({t["channel"] for t in weft.schedule({"name": "ring", "channels": 2}, 4).transfers}), 2)
        self.assertEqual(weft.schedule("bruck", 6, collective="allgather").steps, 3)
        self.assertEqual(weft.schedule("dissemination", 5, collective="barrier").steps, 3)
        self.assertEqual(weft.schedule("hdrm", fabric=SCENARIO["fabric"]).ranks, 8)
        with self.assertRaises(weft.InputError):
            weft.schedule("rings", 4)
        with self.assertRaises(weft.InputError):
            weft.schedule("ring")


class Schema(unittest.TestCase):
    def test_the_schema_describes_scenarios(self):
        self.assertIn("fabric", weft.schema()["properties"])


if __name__ == "__main__":
    unittest.main()
