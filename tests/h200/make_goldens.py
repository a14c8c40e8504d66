"""Turns what came back from the GPU into the files of goldens/ (docs/h200-goldens.md says how it was gathered).

usage: python3 make_goldens.py FOLDER   with FOLDER holding NAME.json (collect_ncu.py), NAME.sass (nvdisasm -gi -c), compare-NAME.json,
patterns.json, repeat.csv, operations.txt, softmax-{naive,good}.head
"""
import json
import os
import re
import sys

NAMES = [f"{e}-{w}" for e in ("softmax", "transpose", "sgemm", "sobel") for w in ("naive", "good")]
KINDS = ["ld.shared", "st.shared", "ld.global", "st.global"]
OPCODES = [r"\bLDS", r"\bSTS", r"\bLDG", r"\bSTG"]


def lines_of(sass, kernel, source):
    """Line in `source` of each instruction offset: the innermost frame that lies there, as the judge reports it."""
    where, chain, last_was_comment, inside = {}, [], False, False
    for text in open(sass):
        if text.startswith(".text."):
            inside = text.startswith(f".text.{kernel}:")
        if not inside:
            continue
        frame = re.search(r'//## File "([^"]+)", line (\d+)', text)
        if frame:
            chain = (chain if last_was_comment else []) + [frame.groups()]
            last_was_comment = True
            continue
        last_was_comment = False
        address = re.match(r"\s+/\*([0-9a-f]{4,})\*/\s", text)
        if address:
            where[int(address[1], 16)] = next((int(line) for file, line in chain if file.endswith(source)), 0)
    return where


def line_goldens(folder, name):
    (kernel,) = json.load(open(f"{folder}/{name}.json"))
    source = "/".join(["examples", name.split("-")[0], name.split("-")[1] + ".cu"])
    where = lines_of(f"{folder}/{name}.sass", kernel["kernel"], source)
    lines = {}
    for row in kernel["instructions"]:
        line = lines.setdefault(where.get(row["offset"], 0), {})
        add = lambda key, value: line.__setitem__(key, line.get(key, 0) + value)
        add("inst_executed", row.get("inst_executed", 0))
        add("thread_inst_executed", row.get("thread_inst_executed_true", 0))
        access = re.search(r"\b(LDG|STG|LDS|STS)[.\w]*", row["sass"])
        if not access or not row.get("inst_executed"):
            continue
        kind = "global" if access[1] in ("LDG", "STG") else "shared"
        if f"memory_{'l2_theoretical_sectors_global' if kind == 'global' else 'l1_wavefronts_shared'}" not in row:
            continue
        add(f"{kind}_requests", row["inst_executed"])
        if kind == "global":
            add("sectors", row["memory_l2_theoretical_sectors_global"])
            add("sectors_ideal", row["memory_l2_theoretical_sectors_global_ideal"])
        else:
            add("wavefronts", row["memory_l1_wavefronts_shared"])
            add("wavefronts_ideal", row["memory_l1_wavefronts_shared_ideal"])
        opcodes = line.setdefault("opcodes", {})
        opcodes[access[0]] = opcodes.get(access[0], 0) + row["inst_executed"]
    totals = {k: v for k, v in kernel["totals"].items() if v is not None}
    return {"name": name, "totals": totals, "lines": {str(k): lines[k] for k in sorted(lines)}}


def pattern_goldens(folder, out):
    table = {}
    for kernel in json.load(open(f"{folder}/patterns.json")):
        kind, width, part = map(int, re.search(r"accessILi(\d+)ELi(\d+)ELi(\d+)E", kernel["kernel"]).groups())
        key = "memory_l1_wavefronts_shared" if kind < 2 else "memory_l2_theoretical_sectors_global"
        rows = [r for r in kernel["instructions"] if re.search(OPCODES[kind], r["sass"]) and key in r][:32]
        for i, row in enumerate(rows):
            table[kind, width, part * 32 + i] = [row[key], row[key + "_ideal"], row["thread_inst_executed_true"]]
    text = [line.rstrip("\n").strip('"').split('","') for line in open(f"{folder}/repeat.csv") if line.startswith('"')]
    head, rows = text[0], [r for r in text[1:] if r[0].isdigit()]
    order = [(kind, width, p) for kind in (0, 1) for width in (4, 8, 16) for p in range(256)]
    for key, row in zip(order, rows, strict=True):
        column = head.index(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{'ld' if key[0] == 0 else 'st'}.sum")
        table[key].append(round(float(row[column].replace(",", "")) / 256))
    with open(out, "w") as file:
        file.write("# kind width: 256 patterns (patterns.h), each ncu/ncu's ideal/active lanes[/the hardware counter's wavefronts]\n")
        for kind in range(4):
            for width in (1, 2, 4, 8, 16):
                file.write(f"{KINDS[kind]} {width}: " + " ".join("/".join(map(str, table[kind, width, p])) for p in range(256)) + "\n")


def main():
    folder, out = sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
    json.dump([line_goldens(folder, name) for name in NAMES], open(f"{out}/lines.json", "w"), indent=1)
    outputs = []
    for name in NAMES:
        compared = json.load(open(f"{folder}/compare-{name}.json"))
        for case in compared["cases"]:
            case.pop("emulator")
            case["passed"] = all(o["passed"] for o in case.pop("gpu"))
        outputs.append(compared)
    with open(f"{out}/outputs.json", "w") as file:
        file.write("[" + ",\n".join('{"name": "%s", "cases": [\n%s]}' % (o["name"], ",\n".join("  " + json.dumps(c) for c in o["cases"])) for o in outputs) + "]\n")
    pattern_goldens(folder, f"{out}/patterns.txt")
    with open(f"{out}/operations.txt", "w") as file:
        file.write("# Hash of the H200's answers, the answers themselves where there are few and they are not the manual's to give, the operation.\n")
        for line in open(f"{folder}/operations.txt"):
            answers, operation = line.rstrip("\n").split(" | ")
            words = answers.split()
            file.write((answers if len(words) <= 200 else words[0]) + " | " + operation + "\n")
    for which in ("naive", "good"):   # the first case: 17 rows of 1000
        open(f"{out}/softmax-{which}.f32", "wb").write(open(f"{folder}/softmax-{which}.head", "rb").read(68000))


if __name__ == "__main__":
    main()
