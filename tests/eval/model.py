"""Plays a language model: model.py EXAMPLES reads a prompt and answers with that example's good kernel; for transpose with one that is wrong."""

import re
import sys

prompt = sys.stdin.read()
for name in ("saxpy", "transpose", "sobel"):
    if re.search(r'extern "C" cudaError_t %s\(' % name, prompt):
        source = open(f"{sys.argv[1]}/{name}/good.cu").read()
        if name == "transpose":
            source = source.replace("tile[threadIdx.x][i]", "tile[i][threadIdx.x]")
        print("Vector accesses.\n\n```cuda\n" + source + "```")
        break
else:
    sys.exit("the prompt names no launcher that is known here")
