"""Reads an Nsight Compute report: for every profiled kernel and SASS instruction, the counters that the goldens keep (docs/h200-goldens.md).

usage: python3 collect_ncu.py REPORT.ncu-rep OUT.json   (needs the ncu_report module of Nsight Compute on PYTHONPATH)
"""
import json
import sys

import ncu_report

METRICS = [
    "inst_executed", "thread_inst_executed", "thread_inst_executed_true",
    "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal",
    "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal",
    "memory_access_type", "memory_access_size_type", "memory_type",
]
TOTALS = [
    "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum", "smsp__thread_inst_executed_pred_on.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "launch__registers_per_thread",
    "sm__maximum_warps_per_active_cycle_pct", "smsp__thread_inst_executed_per_inst_executed.ratio", "memory_l2_theoretical_sectors_global",
    "derived__memory_l1_wavefronts_shared_excessive", "derived__memory_l2_theoretical_sectors_global_excessive",
]


def instances(action, name):
    try:
        metric = action.metric_by_name(name)
    except Exception:
        metric = None
    if metric is None or metric.num_instances() == 0 or not metric.has_correlation_ids():
        return {}
    ids = metric.correlation_ids()
    return {ids.as_uint64(i): metric.as_uint64(i) for i in range(metric.num_instances())}


def total(action, name):
    try:
        metric = action.metric_by_name(name)
        return None if metric is None else metric.as_double()
    except Exception:
        return None


def read_kernel(action):
    columns = {name: instances(action, name) for name in METRICS}
    addresses = sorted(set().union(*[set(c) for c in columns.values()]))
    first = addresses[0] if addresses else 0
    rows = []
    for address in addresses:
        info = action.source_info(address)
        row = {"offset": address - first, "sass": action.sass_by_pc(address)}
        if info is not None:
            row["file"] = info.file_name().split("/")[-1]
            row["line"] = info.line()
        row.update({name: column[address] for name, column in columns.items() if address in column})
        rows.append(row)
    return {"kernel": action.name(2) if hasattr(action, "NameBase_MANGLED") else action.name(), "totals": {n: total(action, n) for n in TOTALS}, "instructions": rows}


def main():
    report = ncu_report.load_report(sys.argv[1])
    kernels = []
    for r in range(report.num_ranges()):
        this = report.range_by_idx(r)
        for a in range(this.num_actions()):
            kernels.append(read_kernel(this.action_by_idx(a)))
    json.dump(kernels, open(sys.argv[2], "w"))
    for kernel in kernels[:3]:
        print(kernel["kernel"], len(kernel["instructions"]), "instructions", kernel["totals"])
        print([sorted(row.items()) for row in kernel["instructions"] if row.get("memory_l1_wavefronts_shared") or row.get("memory_l2_theoretical_sectors_global")][:3])


if __name__ == "__main__":
    main()
