"""Changes of the emitted ptx.cuh in one place each. Only nvcc reads that file, so that only PTX that is run shows what it does."""

import re

FILE = "ptx.cuh"


def plain(kind, pattern, replacement):
    return kind, re.compile(pattern), replacement


KINDS = [
    plain("acquire dropped", r"ld\.acquire\.gpu", "ld.relaxed.gpu"),
    plain("release dropped", r"red\.release\.gpu", "red.relaxed.gpu"),
    plain("signal is a store", r'asm volatile\("red\.release\.gpu\.add\.u64 \[%0\], %1;"[^;]*;', "*to = summand;"),
    plain("signal is added twice", r'"red\.release\.gpu\.add\.u64 \[%0\], %1;"',
          '"red.release.gpu.add.u64 [%0], %1; red.release.gpu.add.u64 [%0], %1;"'),
    plain("signal to the next counter", r'"red\.release\.gpu\.add\.u64 \[%0\]', '"red.release.gpu.add.u64 [%0+8]'),
    plain("value of another counter", r'"ld\.acquire\.gpu\.u64 %0, \[%1\]', '"ld.acquire.gpu.u64 %0, [%1+8]'),
    plain("lane of another distance", r"__shfl_xor_sync\(mask, value, distance\)", "__shfl_xor_sync(mask, value, distance ^ 1)"),
    plain("own value in place of a lane's", r"__shfl_xor_sync\(mask, value, distance\)", "value"),
    plain("copies of fewer bytes", r"const std::uint32_t read = is_read \? bytes : 0;", "const std::uint32_t read = is_read ? bytes - 4 : 0;"),
    plain("copies without zeros", r"const std::uint32_t read = is_read \? bytes : 0;", "const std::uint32_t read = bytes;"),
    plain("copies of nothing", r"const std::uint32_t read = is_read \? bytes : 0;", "const std::uint32_t read = 0;"),
    plain("copies from elsewhere", r"cp\.async\.cg\.shared\.global \[%0\], \[%1\]", "cp.async.cg.shared.global [%0], [%1+16]"),
    plain("copies to elsewhere", r"cp\.async\.cg\.shared\.global \[%0\], \[%1\]", "cp.async.cg.shared.global [%0+16], [%1]"),
    plain("small copies from elsewhere", r"cp\.async\.ca\.shared\.global \[%0\], \[%1\]", "cp.async.ca.shared.global [%0], [%1+4]"),
    plain("copies not committed", r'asm volatile\("cp\.async\.commit_group;"[^;]*;', ""),
    plain("copies not waited for", r'asm volatile\("cp\.async\.wait_group %0;"[^;]*;', ""),
    plain("wait for an older copy", r': "n"\(running\)', ': "n"(running + 1)'),
    plain("matrices turned", r"m8n8\.x4\.shared", "m8n8.x4.trans.shared"),
    plain("matrices not turned", r"m8n8\.x([24])\.trans\.shared", r"m8n8.x\1.shared"),
    plain("matrices exchanged", r'"=r"\(elements\[0\]\), "=r"\(elements\[1\]\)', '"=r"(elements[1]), "=r"(elements[0])'),
    plain("rows exchanged", r'"r"\(rows\[0\]\), "r"\(rows\[1\]\)', '"r"(rows[1]), "r"(rows[0])'),
    plain("columns exchanged", r'"r"\(columns\[0\]\), "r"\(columns\[1\]\)', '"r"(columns[1]), "r"(columns[0])'),
    plain("sums exchanged", r'"\+f"\(sums\[0\]\), "\+f"\(sums\[1\]\)', '"+f"(sums[1]), "+f"(sums[0])'),
    plain("sums not added to", r"\{%8, %9\}, \{%0, %1, %2, %3\}", "{%8, %9}, {%0, %0, %0, %0}"),
    plain("product of another type", r"f32\.f16\.f16\.f32", "f32.bf16.bf16.f32"),
    plain("f16 read as bits", r'asm\("cvt\.f32\.f16 %0, %1;" : "=f"\(value\) : "h"\(bits\)\);', "value = bits;"),
    plain("f16 stored as bf16", r"cvt\.rn\.f16\.f32", "cvt.rn.bf16.f32"),
    plain("bf16 stored as f16", r"cvt\.rn\.bf16\.f32", "cvt.rn.f16.f32"),
    plain("TF32 of nothing", r'asm\("cvt\.rna\.tf32\.f32 %0, %1;" : "=r"\(bits\) : "f"\(value\)\)', "bits = 0"),
    plain("words of a store exchanged", r'"r"\(word\.x\), "r"\(word\.y\)', '"r"(word.y), "r"(word.x)'),
    plain("store to elsewhere", r"st\.global\.v4\.b32 \[%0\]", "st.global.v4.b32 [%0+16]"),
    plain("narrow store to elsewhere", r"st\.global\.v2\.b32 \[%0\]", "st.global.v2.b32 [%0+8]"),
]


def sites(directory):
    """(kind, file, begin, end, new text) for each change of the file in a directory."""
    text = (directory / FILE).read_text()
    return [(kind, FILE, match.start(), match.end(), match.expand(replacement))
            for kind, pattern, replacement in KINDS for match in pattern.finditer(text)]
