"""Sizes for models that leave some open: those that they are used with, as far as that is known."""

from pathlib import Path

# By the beginning of a file's name and a word in it: sizes by input. With tiny pictures, pools would be empty.
SIZES = [
    ("decoder_dynamic", "", {"tokens": [1, 16]}),
    ("onnx-asr", "", {"waveforms": [1, 16000], "waveforms_lens": [1]}),
    ("openwakeword-melspectrogram", "", {"input": [1, 16000]}),
    ("rapidocr", "_cls_", {"x": [1, 3, 48, 192]}),
    ("rapidocr", "_det_", {"x": [1, 3, 64, 64]}),
    ("rapidocr", "_rec_", {"x": [1, 3, 48, 320]}),
    ("silero-vad-silero_vad_16k_sequence", "", {"input": [1, 576]}),
    ("silero-vad", "", {"input": [1, 512], "state": [2, 1, 128]}),
    ("speechmos-Run", "", {"input": [1, 3, 64, 160]}),
    ("swift-f0", "", {"audio": [1, 16000]}),
]


def sizes_of(model):
    """By the names of inputs; none where they are not known."""
    name = Path(model).name
    return next((sizes for start, word, sizes in SIZES if name.startswith(start) and word in name), {})


def shape_options(model):
    """The words of the command line that fix them."""
    return [word for name, sizes in sizes_of(model).items() for word in ("--shape", f"{name}:{','.join(map(str, sizes))}")]
