"""Writes docs/papers.md: the figures of papers beside Lemma's own, which come from the results in bench/results/.

A text of ours names figures as {RESULT|ROW|COLUMN}: the result's file, the first cells of the row joined by ", ", and the
name of the column. {mean RESULT|ROW|COLUMN}, {least ...} and {most ...} are over all rows whose first cells match ROW, in
which * stands for anything; {ratio RESULT|ROW|COLUMN|OTHER} is one column over another one of a row. {count FILE|WORD} is the
number of lines of a file of the repository that begin with the word.
"""

import fnmatch
import re
from dataclasses import dataclass

import results
from results import ROOT, anchor

PAGE = ROOT / "docs" / "papers.md"
REFERENCE = re.compile(r"\{(?:(mean|least|most|ratio|count) )?([^|{}]+)\|([^{}]+)\}")
HOW = ("measured", "predicted", "simulated", "counted", "proved")


@dataclass
class Figure:
    """One figure of a paper. `ours` is empty where Lemma has none; then `how` says why."""
    what: str
    theirs: str
    ours: str
    how: str


@dataclass
class Paper:
    name: str
    reference: str
    text: str
    figures: list


# ---- The figures -----------------------------------------------------------------------------------------------------

def strategies_of(rows):
    return [Figure(f"{name}: cheaper than the original", f"TASO's search {taso}%, TENSAT {tensat}%",
                   f"{{tensat-t4|{model}|from folded}}%", "predicted")
            for name, model, taso, tensat in rows]


PAPERS = [
    Paper("TASO", "Jia et al., SOSP 2019",
          "Substitutions are enumerated, proved, and used by a search with backtracking. Measured on an NVIDIA V100.", [
        Figure("substitutions up to four operators", "743, enumerated in 5 minutes",
               "{enumeration|taso, 4, 2|candidates} candidates of {enumeration|taso, 4, 2|graphs} graphs in "
               "{enumeration|taso, 4, 2|wall} s, {enumeration|taso, 4, 2|memory} MB", "measured"),
        Figure("their proof", "10 minutes, properties checked up to a size of 4",
               "up to three operators {databases|taso, 3|proved} of {databases|taso, 3|candidates} proved for all sizes, with the "
               "enumeration in {databases|taso, 3|processor time} processor seconds", "measured"),
        Figure("properties of operators that are assumed", "43",
               "none: {count tests/verifier/taso_properties.rules|rule} of them are proved twice", "proved"),
        Figure("shipped substitutions that are true", "all 133 are said to be verified",
               "{taso-rules|proved, with a certificate and an index proof|rules} proved, {taso-rules|of these under conditions|rules} of "
               "them under conditions that TASO lacks", "proved"),
        Figure("lines by hand", "53,000 of rules in TensorFlow; 1,400 that specify TASO's operators",
               "{lines-by-hand|operators, by hand|lines} for {lines-by-hand|operators, by hand|number} operators, with their code and "
               "ONNX forms; {lines-by-hand|rules, by hand|lines} of rules", "counted"),
        Figure("a block of ResNet, faster on a V100", "1.3 times",
               "{residual-block|resnet_block, v100-2019|times cheaper} times, 14x14", "predicted"),
        Figure("the same on a K80", "0.9 times", "{residual-block|resnet_block-scale2, k80|times cheaper} times (28x28): it is kept; {residual-block|resnet_block, k80|times cheaper} times (14x14)", "predicted"),
        Figure("faster than the best of other frameworks", "up to 2.8 times",
               "at best {least onnxruntime-times|*|lemma} of the time under ONNX Runtime with its own optimizations", "measured"),
    ]),
    Paper("TENSAT", "Yang et al., MLSys 2021",
          "TASO's rules in an e-graph, and exact extraction. Measured on an NVIDIA T4; ours are costs on a T4 that is described, "
          "from the model with folded normalizations.", [
        *strategies_of([("NasRNN", "nasrnn", 45.4, 68.9), ("SqueezeNet", "squeezenet1_1", 6.7, 24.5),
                        ("Inception-v3", "inception_v3", 6.3, 10.0), ("BERT", "bert-base", 8.5, 9.2),
                        ("VGG-19", "vgg19", 8.9, 8.9), ("ResNeXt-50", "resnext50_32x4d", 5.5, 8.8),
                        ("NasNet-A", "nasnet_a", 1.9, 7.3)]),
        Figure("faster than with backtracking, at most", "16%", "{most tensat-times-t4|*|cheaper}%", "predicted"),
        Figure("sooner than backtracking, on average", "48 times",
               "{mean tensat-times-t4|*|times sooner} times, at the cost that backtracking ends with", "measured"),
    ]),
    Paper("PET", "Wang et al., OSDI 2021",
          "Programs that are equal on a part of their output only, corrected elsewhere. Times are over the best of TensorFlow, XLA, "
          "TensorRT and TASO on a V100; ours over the original on a V100 that is described.", [
        Figure(f"{name}, batch {batch}", f"{theirs} times", f"{{partial-models|v100, {model}, {batch}|gain, with partial}} times, "
               f"{{partial-models|v100, {model}, {batch}|ratio of the two}} by rules of partial equivalence", "predicted")
        for name, model, batch, theirs in [("CSRNet", "csrnet_dilated", 1, 2.21), ("CSRNet", "csrnet_dilated", 16, 2.51),
                                           ("ResNet-18", "resnet18", 1, 1.04), ("ResNet-18", "resnet18", 16, 1.21),
                                           ("Inception-v3", "inception_v3", 1, 1.24), ("BERT", "bert-base", 1, 1.40),
                                           ("ResNet3D-18", "resnet18_3d", 1, "1.00")]
    ] + [
        Figure("Inception-v3 and BERT, batch 16", "1.44 and 1.19 times", "", "never run"),
        Figure("seconds of the search", "89, 88, 91 and 165; Inception-v3 25 minutes",
               "{least partial-models|v100, *|search} to {most partial-models|v100, *|search}", "measured"),
        Figure("on a processor", "none", "{partial-models|ONNX Runtime, longformer, 1|gain, with partial} times (LongFormer), "
               "{partial-models|ONNX Runtime, resnet18_3d, 1|gain, with partial} times (ResNet3D-18)", "measured"),
    ]),
    Paper("Rammer", "Ma et al., OSDI 2020",
          "Operators in tasks that are scheduled before they run. Measured on an NVIDIA V100 with 80 multiprocessors; ours are "
          "simulated on 80 units in its proportions. Rammer's first figures are TensorFlow's.", [
        *[Figure(f"{name}: operator by operator over co-scheduled with kernels chosen", f"{theirs} times",
                 f"{{ratio schedules|{model}, 1|operator by operator|with kernel choice}} times", "simulated")
          for name, model, theirs in [("ResNeXt", "resnext50_32x4d", 10.5), ("NASNet", "nasnet_a", 9.8),
                                      ("DeepSpeech2", "deepspeech2", 10.0), ("LSTM of ten layers", "lstm_10_layers", 33.8),
                                      ("Seq2Seq", "seq2seq", 19.8)]],
        Figure("LSTM at batch 4: a choice of kernels", "14.9 to 6.5 ms",
               "{schedules|lstm_10_layers, 4|co-scheduled} to {schedules|lstm_10_layers, 4|with kernel choice} us; "
               "{schedules|lstm_10_layers, 4|critical path} us by the critical path", "simulated"),
        Figure("mean utilisation, operator by operator", "20.3%", "{schedule-averages|operator by operator|utilisation}%", "simulated"),
        Figure("of it, co-scheduled with kernels chosen", "4.32 times",
               "{schedule-averages|with kernel choice|times the first} times", "simulated"),
        Figure("of that of operators with barriers (RammerBase)", "1.61 times",
               "{schedule-averages|with kernel choice|utilisation}% beside {schedule-averages|after barriers|utilisation}%", "simulated"),
        Figure("scheduling overhead, three systems", "32.29, 2.27, 0.37 ms",
               "{schedule-averages|operator by operator|outside tasks}, {schedule-averages|after barriers|outside tasks}, "
               "{schedule-averages|with kernel choice|outside tasks} ms", "simulated"),
        Figure("times of operators of ResNeXt vary little", "over 1,000 runs",
               "over {operator-spread|resnext50_32x4d|runs}: mean coefficient of variation "
               "{operator-spread|resnext50_32x4d|mean variation}%, by time {operator-spread|resnext50_32x4d|weighted by time}%", "measured"),
    ]),
    Paper("Wolong", "Xue et al., EuroSys 2019, and the project's talk of 2018",
          "Operators are batched and fused into one kernel; tensors go between servers by one-sided writes.", [
        Figure("an LSTM of 80 steps", "1,686 operators of TensorFlow",
               "{fusion|lstm|calls: none} operators, {fusion|lstm|all} calls", "counted"),
        Figure("the same, found again by the search", "none",
               "{unrolled-lstm|operators after (Reshape, LSTM, Reshape)|figure} operators", "measured"),
        Figure("faster than gRPC, at most", "25 times", "{most transfers|*|remote call by put} times a remote call, between two processes", "measured"),
        Figure("training", "up to 8 times over gRPC on 8 servers",
               "{ratio losses-over-time|200|remote calls|put and flag} times for 200 steps on two ranks of one machine", "measured"),
    ]),
    Paper("FusionStitching", "Zheng et al., 2020",
          "Memory-bound operators in few kernels.", [
        Figure("calls of kernels, one model", "6,842 to 2,109 (3.2 times fewer)",
               "{fusion|dien|calls: none} to {fusion|dien|all} (DIEN), {fusion|crnn|calls: none} to {fusion|crnn|all} (CRNN)", "counted"),
        Figure("bytes moved, one model", "668 to 226 MB (3.0 times fewer)",
               "{fusion|dien|moved: none} to {fusion|dien|moved: all} MB (DIEN), {fusion|crnn|moved: none} to {fusion|crnn|moved: all} MB (CRNN)",
               "counted"),
        Figure("faster, at most", "2.78 times on a GPU", "", "no GPU: on a processor see "
               "[task programs](../bench/RESULTS.md#task-programs-beside-onnx-runtime-and-openvino)"),
    ]),
    Paper("FlexFlow", "Jia et al., MLSys 2019",
          "Each operator is split by sample, attribute, parameter or given to devices of its own; a simulator judges.", [
        Figure("steps of training beside data parallelism, at most", "3.3 times (64 GPUs)",
               "{most other-plans|*a step of training*|data parallelism over Lemma} times on at most 16 devices", "predicted"),
        Figure("the same beside experts' plans and FlexFlow's search", "1.3 to 3.3 times experts' plans",
               "at most {most other-plans|*a step of training*|expert over Lemma} times experts' plans, "
               "{most other-plans|*a step of training*|Metropolis over Lemma} times the search", "predicted"),
        Figure("operators on devices of their own, at most", "-",
               "{ratio own-operators|4 layers of LSTM, 16 chunks|on one device|planned} times one device on four (LSTM)", "predicted"),
        Figure("plan beside the best there is", "-",
               "at most {most own-operators|*LSTM*|planned by at least} times a bound (LSTM), equal to the optimum in all of Alpa's cases", "predicted"),
        Figure("simulating a change beside simulating all", "2.2 to 6.9 times sooner",
               "{least simulator-moves|*|with the task graph} to {most simulator-moves|*|with the task graph} times sooner", "measured"),
        Figure("simulated over measured time of a plan", "within 30%, order kept",
               "{least calibrated-plans|*|simulated by measured} to {most calibrated-plans|*|simulated by measured}, order kept, for 30 "
               "random plans on two ranks of one machine", "measured"),
    ]),
    Paper("Unity", "Unger et al., OSDI 2022",
          "Parallel operators are part of the graph and rewritten with it.", [
        Figure("rules for parallel operators", "640, for two devices",
               "{parallel-rules|distribution.rules|both proofs} of {parallel-rules|distribution.rules|rules} proved twice for any number "
               "of devices", "proved"),
        Figure("DLRM and CANDLE's Uno beside data parallelism, at most", "3.6 times on 192 GPUs, over all models",
               "{most other-plans|dlrm*|data parallelism over Lemma} and {most other-plans|candle_uno*|data parallelism over Lemma} times on "
               "at most 16 devices", "predicted"),
        Figure("rewrites and shardings chosen together", "-",
               "at most {most rewritten-plans|*|model / rewritten} times sooner than the plan of the model alone", "predicted"),
        Figure("search of a plan", "under 20 minutes",
               "{plan-choices|random: 60000 nodes, 74923 edges|time} s for 60,000 nodes", "measured"),
        Figure("whether a plan computes the model", "-", "{distributed-programs|Llama 3.1 405B, 126 layers, 8 ranks|outcome}: Llama 3.1 405B "
               "on 8 ranks in {distributed-programs|Llama 3.1 405B, 126 layers, 8 ranks|time} s", "proved"),
    ]),
]

INTRODUCTION = """\
# Figures of papers

`bench/tables` writes this page from `bench/parts/papers.py` and `bench/results/`; do not edit it. Each figure of a paper is
beside Lemma's own. *Measured* is measured on processors, *predicted* is the sum of modelled costs of operators on a device
that is described, *simulated* is a schedule on such a device, *counted* and *proved* need no machine. Where Lemma has no
figure, the reason stands there. Devices and models are not always the same: the text above a table says how they differ.
"""


# ---- Text ------------------------------------------------------------------------------------------------------------

def first_cells(row, count):
    return ", ".join("" if cell is None else str(cell) for cell in row[:count])


def rows_of(all_results, name, key):
    """Rows of a result whose first cells are the key."""
    if name not in all_results:
        raise results.Malformed(f"bench/parts/papers.py: there is no result '{name}'")
    chosen = []
    for row in all_results[name]["rows"]:
        if any(fnmatch.fnmatchcase(first_cells(row, count), key) for count in range(1, len(row))):
            chosen.append(row)
    if not chosen:
        raise results.Malformed(f"bench/parts/papers.py: {name} has no row '{key}'")
    return chosen


def column_of(all_results, name, column):
    names = [entry["name"] for entry in all_results[name]["columns"]]
    if column not in names:
        raise results.Malformed(f"bench/parts/papers.py: {name} has no column '{column}'")
    return names.index(column), all_results[name]["columns"][names.index(column)].get("decimals")


def shown(value, decimals):
    if isinstance(value, float) and decimals is not None:
        value = round(value, decimals)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def counted(file, word):
    path = ROOT / file
    if not path.is_file():
        raise results.Malformed(f"bench/parts/papers.py: there is no {file}")
    return str(sum(line.startswith(f"{word} ") for line in path.read_text().splitlines()))


def resolved(all_results, match):
    """The text of a reference."""
    kind, name, rest = match.groups()
    if kind == "count":
        return counted(name, rest)
    key, *columns = rest.split("|")
    chosen = rows_of(all_results, name, key)
    at, decimals = column_of(all_results, name, columns[0])
    values = [row[at] for row in chosen if row[at] is not None]
    if kind == "ratio":
        return f"{values[0] / chosen[0][column_of(all_results, name, columns[1])[0]]:.1f}"
    if kind:
        numbers = [value for value in values if not isinstance(value, str)]
        return shown({"mean": lambda: round(sum(numbers) / len(numbers), 1), "least": lambda: min(numbers),
                      "most": lambda: max(numbers)}[kind](), decimals)
    if len(chosen) != 1 or not values:
        raise results.Malformed(f"bench/parts/papers.py: {name} has {len(chosen)} rows '{key}', or no {columns[0]}")
    return shown(values[0], decimals)


def commands_of(all_results, figure):
    """The first command of each result that the figure is from, which leads to its section."""
    texts = []
    for kind, name, rest in REFERENCE.findall(figure.ours):
        if kind == "count":
            texts.append("`ctest -R verifier_prover`")
        else:
            result = all_results[name]
            texts.append(f"[`{result['command'][-1]}`](../bench/RESULTS.md#{anchor(result['title'])})")
    return ", ".join(dict.fromkeys(texts)) or "-"


def row_of(all_results, figure):
    if bool(figure.ours) != (figure.how in HOW):
        raise results.Malformed(f"bench/parts/papers.py: '{figure.what}' has to have a figure, or a reason")
    ours = REFERENCE.sub(lambda match: resolved(all_results, match), figure.ours)
    how = figure.how if figure.ours else f"not measured: {figure.how}"
    return [figure.what, figure.theirs, ours or "-", how, commands_of(all_results, figure)]


def page(all_results, table):
    """The text of docs/papers.md. `table`: writes columns and rows as aligned lines."""
    lines = [INTRODUCTION]
    for paper in PAPERS:
        columns = [{"name": name} for name in ("figure", paper.name, "Lemma", "how", "command")]
        lines += [f"## {paper.name}", "", f"{paper.reference}. {paper.text}", "",
                  *table(columns, [row_of(all_results, figure) for figure in paper.figures]), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
