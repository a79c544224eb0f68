"""What other tools read of a run: Hatchet's call tree, OpenTelemetry's spans, Chakra's traces; checked
with the libraries of these formats."""

import base64
import glob
import json
import os
import sys
import tempfile
import unittest

import support

support.use_interop()

import profwrap
import profwrap.calltree
import profwrap.chakra
import profwrap.otlp

RANKS, STEPS = 4, 5


class InteropTest(support.TempDirTest):
    pattern = "data"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.out = os.path.join(folder.name, "run")
        support.run(support.PROFWRAP, "sim", "--ranks", str(RANKS), "--steps", str(STEPS), "--operators", "2",
                    "--pattern", cls.pattern, "-f", "slow_rank:rank=3,percent=60", cls.out)
        support.run(support.PROFWRAP, "merge", "-q", cls.out)
        cls.run_ = profwrap.load(cls.out, frames="numpy")

    def command(self, module, *words, status=0):
        return support.run(sys.executable, "-m", f"profwrap.{module}", *words, status=status)


class CallTreeTest(InteropTest):
    def test_hatchet_reads_it(self):
        try:
            import hatchet
        except ImportError:
            self.skipTest("hatchet is not installed")
        self.command("calltree", self.out, self.path("tree.json"))
        with open(self.path("tree.json")) as file:
            frame = hatchet.GraphFrame.from_literal(json.load(file))
        paths = self.run_.operator_stacks
        self.assertEqual(len(frame.dataframe), len(paths))
        self.assertEqual(set(frame.inc_metrics), {"time (inc)"})
        self.assertAlmostEqual(frame.dataframe["time"].sum(), paths["exclusive_ns"].sum() / 1e9)
        roots = sum(node.frame["name"] is not None for node in frame.graph.roots)
        self.assertEqual(roots, (paths["parent"] < 0).sum())
        for node in frame.graph.traverse():
            row = frame.dataframe.loc[node]
            inside = sum(frame.dataframe.loc[child, "time (inc)"] for child in node.children)
            self.assertAlmostEqual(row["time (inc)"], row["time"] + inside, places=6)

    def test_names_and_figures(self):
        operators, paths = self.run_.operators, self.run_.operator_stacks
        found = []

        def visit(node, parent):
            found.append((node["frame"]["name"], parent, node["metrics"]["calls"]))
            for child in node["children"]:
                visit(child, node["frame"]["name"])

        for root in profwrap.calltree.tree(self.run_):
            visit(root, None)
        names = [operators["name"][row] for row in paths["operator_row"]]
        wanted = [(name, names[path["parent"]] if path["parent"] >= 0 else None, path["calls"])
                  for name, path in zip(names, paths)]
        self.assertEqual(sorted(found, key=str), sorted(wanted, key=str))

    def test_wrong_words(self):
        self.command("calltree", self.out, status=2)
        self.command("calltree", self.path("none"), self.path("x.json"), status=1)


class OtlpTest(InteropTest):
    def spans(self, *words):
        """The message as opentelemetry-proto reads it: {name and parent: span}. In OTLP's JSON
        identifiers are hexadecimal, in that of protobuf base64."""
        try:
            from google.protobuf import json_format
            from opentelemetry.proto.trace.v1 import trace_pb2
        except ImportError:
            self.skipTest("opentelemetry-proto is not installed")

        self.command("otlp", *words, self.out, self.path("spans.json"))
        with open(self.path("spans.json")) as file:
            data = json.load(file)
        for resource in data["resourceSpans"]:
            for span in resource["scopeSpans"][0]["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        message = json_format.ParseDict(data, trace_pb2.TracesData())
        return message, [span for resource in message.resource_spans for scope in resource.scope_spans
                         for span in scope.spans]

    def test_a_span_per_step(self):
        message, spans = self.spans()
        root, *steps = spans
        self.assertEqual((len(steps), len(root.span_id), len(root.trace_id)), (STEPS, 8, 16))
        table = self.run_.steps
        for span, row in zip(steps, table):
            self.assertEqual((span.name, span.parent_span_id), (f"step {row['step']}", root.span_id))
            self.assertEqual(span.trace_id, root.trace_id)
            self.assertEqual(span.end_time_unix_nano - span.start_time_unix_nano, row["end"] - row["start"])
            self.assertLessEqual(root.start_time_unix_nano, span.start_time_unix_nano)
            self.assertGreaterEqual(root.end_time_unix_nano, span.end_time_unix_nano)
            values = {each.key: each.value for each in span.attributes}
            self.assertEqual(values["profwrap.slowest_rank"].int_value, row["slowest_rank"])
        self.assertEqual(len({span.span_id for span in spans}), len(spans))
        self.assertEqual(message.resource_spans[0].resource.attributes[0].key, "service.name")
        self.assertIn("straggler", [event.name for event in root.events])

    def test_steps_of_ranks(self):
        _, spans = self.spans("--ranks", "1,3")
        self.assertEqual(len(spans), 1 + STEPS + 2 * STEPS)
        trace, by_id = self.run_.step_trace, {span.span_id: span for span in spans}
        for span in spans[1 + STEPS:]:
            values = {each.key: each.value.int_value for each in span.attributes}
            row = trace[(trace["rank"] == values["profwrap.rank"]) & (trace["step"] == values["profwrap.step"])]
            self.assertEqual(values["profwrap.own_ns"], row["own_ns"][0])
            self.assertEqual(by_id[span.parent_span_id].name, span.name)

    def test_wrong_words(self):
        self.command("otlp", "--ranks", "one", self.out, self.path("x.json"), status=2)
        self.command("otlp", "--ranks", "99", self.out, self.path("x.json"), status=1)


def chakra_messages():
    """The messages of Chakra's schema 0.0.4 that are read here, by the numbers of its et_def.proto."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = {"uint64": 4, "int64": 3, "bool": 8, "string": 9, "enum": 5, "message": 11}
    file = descriptor_pb2.FileDescriptorProto(name="chakra.proto", package="chakra", syntax="proto3")
    for message, fields in {
        "Attribute": [("name", 1, "string", ""), ("int64_val", 9, "int64", ""), ("uint64_val", 13, "uint64", ""),
                      ("bool_val", 27, "bool", ""), ("string_val", 29, "string", "")],
        "Metadata": [("version", 1, "string", ""), ("attr", 2, "message", ".chakra.Attribute")],
        "Node": [("id", 1, "uint64", ""), ("name", 2, "string", ""), ("type", 3, "enum", ""),
                 ("data_deps", 5, "uint64", "repeated"), ("start_time_micros", 6, "uint64", ""),
                 ("duration_micros", 7, "uint64", ""), ("attr", 10, "message", ".chakra.Attribute")],
    }.items():
        made = file.message_type.add(name=message)
        if message == "Attribute":
            made.oneof_decl.add(name="value")
        for name, number, kind, more in fields:
            field = made.field.add(name=name, number=number, type=kinds[kind], label=3 if more else 1,
                                   type_name=more if kind == "message" else None)
            if message == "Attribute" and name != "name":
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(f"chakra.{name}"))
            for name in ("Metadata", "Node")]


def values_of(node):
    found = {}
    for each in node.attr:
        (field, value), = [(field.name, value) for field, value in each.ListFields() if field.name != "name"]
        found[each.name] = value
    return found


class ChakraTest(InteropTest):
    def traces(self):
        """{rank: nodes}, each message with its length before it."""
        metadata, node = chakra_messages()
        self.command("chakra", self.out, self.path("et"))
        found = {}
        for path in glob.glob(self.path("et/chakra.*.et")):
            with open(path, "rb") as file:
                data = file.read()
            at, messages = 0, []
            while at < len(data):
                size = shift = 0
                while True:
                    byte = data[at]
                    size, shift, at = size | (byte & 0x7F) << shift, shift + 7, at + 1
                    if byte < 0x80:
                        break
                messages.append((node if messages else metadata).FromString(data[at : at + size]))
                at += size
            self.assertEqual(messages[0].version, "0.0.4")
            found[int(path.split(".")[-2])] = messages[1:]
        return found

    def check(self, traces):
        for nodes in traces.values():
            self.assertEqual([node.id for node in nodes], list(range(len(nodes))))
            for node in nodes:
                self.assertTrue(all(need < node.id for need in node.data_deps), node)

    def test_collectives_match_across_ranks(self):
        traces = self.traces()
        self.check(traces)
        with open(self.path("et/comm_groups.json")) as file:
            groups = json.load(file)
        seen = {}
        for rank, nodes in traces.items():
            for node in nodes:
                values = values_of(node)
                if node.type == 7:
                    seen.setdefault(values["match"], []).append(rank)
                    self.assertIn(rank, groups[values["pg_name"]])
        wanted = self.run_.collectives
        self.assertEqual(len(seen), len(wanted))
        for match, ranks in seen.items():
            self.assertEqual(sorted(ranks), groups[match.split(":")[0]], match)
        with_bytes = sum(values_of(node)["comm_size"] for node in traces[0] if node.type == 7)
        self.assertEqual(with_bytes, wanted["bytes"].sum())

    def test_work_between_calls(self):
        """Work and calls of a thread that has no nonblocking calls fill its time."""
        nodes = self.traces()[2]
        comm = self.run_.rank(2).events("comm", clock="cluster")
        if set(comm["thread"]) == {0} and not (comm["flags"] & 4).any():
            span = (comm["end"].max() - comm["start"].min()) / 1000
            self.assertAlmostEqual(sum(node.duration_micros for node in nodes), span, delta=2 * len(nodes))
        self.assertIn("work", {node.name for node in nodes})


class ChakraMessagesTest(ChakraTest):
    pattern = "halo"

    def test_messages_match_across_ranks(self):
        traces = self.traces()
        self.check(traces)
        ends = {5: {}, 6: {}}
        for rank, nodes in traces.items():
            for node in nodes:
                if node.type in ends:
                    values = values_of(node)
                    self.assertEqual(values["comm_src" if node.type == 5 else "comm_dst"], rank)
                    self.assertNotIn(values["match"], ends[node.type])
                    ends[node.type][values["match"]] = values["comm_size"]
        self.assertGreater(len(ends[5]), STEPS)
        self.assertEqual(ends[5], ends[6])

    def test_a_wait_makes_the_next_node_need_its_operations(self):
        nodes = self.traces()[0]
        needed = {need for node in nodes for need in node.data_deps}
        messages = [node for node in nodes if node.type in (5, 6)]
        waited = sum(node.id in needed for node in messages)
        self.assertGreaterEqual(waited, len(messages) - 8)  # but the last step's


del InteropTest  # it has no tests of its own


if __name__ == "__main__":
    unittest.main()
