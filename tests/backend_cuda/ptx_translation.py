"""PTX as C++ that runs on the fibres of host_cuda/: an instruction becomes a statement (host_cuda/ptx_words.h has what they
mean). An instruction that is not known is an error, never a guess."""

import re

import ptx_text
from ptx_text import Instruction, Label, Registers, Unknown, Variable

HEAD = '#include <cuda_runtime.h>\n#include "ptx_words.h"\nusing namespace ptx_words;\n'
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
SPECIAL = {"%tid.x": "host_cuda::thread_index().x", "%ctaid.x": "host_cuda::block_index().x",
           "%globaltimer": "host_cuda::nanoseconds()", "%laneid": "(host_cuda::thread_index().x % 32)"}
ROUNDINGS = {"rni": "std::nearbyint", "rmi": "std::floor", "rpi": "std::ceil", "rzi": "std::trunc"}
OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "mul": "*"}


def wide(kind):
    """The type of twice the size."""
    return {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}[kind]


def is_real(kind):
    return kind in ("f32", "f64")


def unsigned(kind):
    return kind if is_real(kind) else f"u{kind[1:]}"


def members(operand):
    """Of "{%r1, %r2}", or of one register."""
    return ptx_text.parts(operand.strip("{}")) if operand.startswith("{") else [operand]


class Translation:
    """Of one function."""

    def __init__(self, module, function):
        self.variables = {variable.name for variable in module.variables}
        self.shared = module.shared
        self.function = function
        self.places = {place.name for place in [*function.results, *function.parameters]}
        self.kinds = {}  # of registers

    def text(self):
        return "\n".join(self.statement(statement) for statement in self.function.body)

    # Statements.

    def statement(self, statement):
        if isinstance(statement, str):
            return statement
        if isinstance(statement, Label):
            return f"{self.label(statement.name)}:;"
        if isinstance(statement, Registers):
            kind = "bool" if statement.kind == "pred" else f"u{statement.kind[1:]}"
            self.kinds.update(dict.fromkeys(statement.names, statement.kind))
            return f"[[maybe_unused]] {kind} {', '.join(map(self.register, statement.names))};"
        if isinstance(statement, Variable):
            self.places.add(statement.name)
            return f"alignas(16) unsigned char {statement.name}[{statement.count * ptx_text.bytes_of(statement.kind)}];"
        meaning = getattr(self, "of_" + statement.words[0], None)
        if meaning is None:
            raise Unknown(f"instruction {statement.text()}")
        try:
            code = meaning(statement)
        except (KeyError, IndexError, ValueError) as error:
            raise Unknown(f"instruction {statement.text()}") from error
        if statement.guard:
            return f"if ({'!' if statement.is_inverted else ''}{self.register(statement.guard)}) {{ {code} }}"
        return code

    @staticmethod
    def label(name):
        return name.replace("$", "label_")

    @staticmethod
    def register(name):
        return name.replace("%", "r_").replace("$", "_")

    def predicate(self, operand):
        inverted = operand.startswith("!")
        return ("!" if inverted else "") + self.register(operand.lstrip("!"))

    def value(self, operand, kind):
        """An operand as a type."""
        if operand in SPECIAL:
            return f"static_cast<{kind}>({SPECIAL[operand]})"
        if operand in self.kinds:
            return f"as<{kind}>({self.register(operand)})"
        if match := re.fullmatch(r"0[fF]([0-9A-Fa-f]{8})", operand):
            return f"as<{kind}>(u32{{0x{match[1]}}})"
        if match := re.fullmatch(r"0[dD]([0-9A-Fa-f]{16})", operand):
            return f"as<{kind}>(u64{{0x{match[1]}}})"
        if re.fullmatch(r"-?\d+|0x[0-9A-Fa-f]+U?", operand):
            number = int(operand.rstrip("U"), 0)
            return f"static_cast<{kind}>({number % 2**64}ULL)"
        if match := re.fullmatch(r"([\w$]+)(?:\+(\d+))?", operand):
            return f"static_cast<{kind}>({self.place(match[1])} + {match[2] or 0})"
        raise Unknown(f"operand {operand}")

    def place(self, name):
        """The address of a name."""
        if name in self.shared:
            return "u64{0}"
        if name in self.variables or name in self.places:
            return f"reinterpret_cast<u64>(&{name})" if name in self.variables else f"reinterpret_cast<u64>({name})"
        raise Unknown(f"name {name}")

    def address(self, operand, space):
        match = re.fullmatch(r"\[\s*(%?[\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]", operand)
        if not match:
            raise Unknown(f"address {operand}")
        base = f"as<u64>({self.register(match[1])})" if match[1] in self.kinds else self.place(match[1])
        there = f"({base} + u64{{{int(match[2] or 0) % 2**64}ULL}})"
        return {"shared": f"shared_place({there})", "global": f"global_place({there})"}.get(space, there)

    def put(self, operand, code):
        if operand == "_":
            return ""
        if operand not in self.kinds:
            raise Unknown(f"result {operand}")
        return f"put({self.register(operand)}, {code});"

    # Memory.

    def space(self, words):
        return next((word for word in words if word in ("param", "shared", "global", "const", "local")), "")

    def of_ld(self, it):
        kind, space = it.words[-1], self.space(it.words)
        if it.words[1] in ("acquire", "relaxed"):
            self.demand(it, it.words[2:] == ["gpu", "u64"])
            acquires = "true" if it.words[1] == "acquire" else "false"
            place = self.address(it.operands[1], "")
            return self.put(it.operands[0], f"host_cuda::load(reinterpret_cast<const u64*>({place}), {acquires})")
        self.demand(it, "volatile" not in it.words)
        to, size = members(it.operands[0]), ptx_text.bytes_of(kind)
        load = "load_parameter" if space == "param" else "load"
        loads = " ".join(self.put(name, f"{load}<{kind}>(place + {i * size})") for i, name in enumerate(to))
        return f"{{ const u64 place = {self.checked(it.operands[1], space, size * len(to))}; {loads} }}"

    def of_st(self, it):
        kind, space = it.words[-1], self.space(it.words)
        self.demand(it, not {"release", "relaxed", "volatile"} & set(it.words))
        given, size = members(it.operands[1]), ptx_text.bytes_of(kind)
        store = "store_parameter" if space == "param" else "store"
        stores = " ".join(f"{store}<{kind}>(place + {i * size}, {self.value(value, kind)});" for i, value in enumerate(given))
        return f"{{ const u64 place = {self.checked(it.operands[0], space, size * len(given))}; {stores} }}"

    def checked(self, operand, space, size):
        address = self.address(operand, space)
        return address if space == "param" else f"aligned({address}, {size})"

    def demand(self, it, condition):
        if not condition:
            raise Unknown(f"instruction {it.text()}")

    def of_red(self, it):
        self.demand(it, it.words[1] in ("release", "relaxed") and it.words[2:] == ["gpu", "add", "u64"])
        place, releases = self.address(it.operands[0], ""), "true" if it.words[1] == "release" else "false"
        return f"host_cuda::add(reinterpret_cast<u64*>({place}), {self.value(it.operands[1], 'u64')}, {releases});"

    def of_atom(self, it):
        self.demand(it, it.words == ["atom", "relaxed", "gpu", "exch", "b64"] and it.operands[2] in ("1", *self.kinds))
        return self.put(it.operands[0], f"u64{{!host_cuda::is_first(reinterpret_cast<u64*>({self.address(it.operands[1], '')}))}}")

    def of_fence(self, it):
        return ""

    def of_cvta(self, it):
        to, source = it.operands
        value, space = self.value(source, "u64"), self.space(it.words)
        if space == "shared":
            return self.put(to, f"to_shared({value})" if "to" in it.words else f"from_shared({value})")
        self.demand(it, space in ("global", "const", "param", "local"))
        return self.put(to, value)

    def of_cp(self, it):
        if "commit_group" in it.words:
            return "ptx::commit_copies();"
        if "wait_group" in it.words:
            return f"ptx::wait_for_copies<{int(it.operands[0])}>();"
        self.demand(it, it.words[:2] == ["cp", "async"] and it.words[3:5] == ["shared", "global"])
        size = int(it.operands[2])
        read = self.value(it.operands[3], "u32") if len(it.operands) > 3 else str(size)
        return (f"{{ const u32 read = {read}; if (read != 0 && read != {size}) host_cuda::give_up(\"a copy of a part\"); "
                f"ptx::copy_async<{size}>(reinterpret_cast<void*>({self.address(it.operands[0], 'shared')}), "
                f"reinterpret_cast<const void*>({self.address(it.operands[1], '')}), read != 0); }}")

    def of_isspacep(self, it):
        is_shared = f"to_shared({self.value(it.operands[1], 'u64')}) < host_cuda::shared_bytes()"
        self.demand(it, it.words[1] in ("shared", "global"))
        return f"{self.register(it.operands[0])} = {'' if it.words[1] == 'shared' else '!'}({is_shared});"

    # Registers.

    def of_mov(self, it):
        kind, (to, source) = it.words[-1], it.operands
        if kind == "pred":
            return f"{self.register(to)} = {self.predicate(source)};"
        if to.startswith("{"):
            names = members(to)
            size = 8 * ptx_text.bytes_of(kind) // len(names)
            moves = " ".join(self.put(name, f"static_cast<u{size}>(whole >> {size * i}U)") for i, name in enumerate(names))
            return f"{{ const u{kind[1:]} whole = {self.value(source, f'u{kind[1:]}')}; {moves} }}"
        if source.startswith("{"):
            names = members(source)
            size = 8 * ptx_text.bytes_of(kind) // len(names)
            return self.put(to, " | ".join(f"static_cast<u64>({self.value(name, f'u{size}')}) << {size * i}U"
                                           for i, name in enumerate(names)))
        return self.put(to, self.value(source, kind))

    def of_selp(self, it):
        kind = it.words[-1]
        return self.put(it.operands[0], f"{self.predicate(it.operands[3])} ? {self.value(it.operands[1], kind)} : "
                                        f"{self.value(it.operands[2], kind)}")

    def of_setp(self, it):
        kind, comparison = it.words[-1], it.words[1]
        self.demand(it, "|" not in it.operands[0])
        a, b = (self.value(operand, kind) for operand in it.operands[1:3])
        if comparison in ("nan", "num"):
            code = f"{'' if comparison == 'nan' else '!'}is_unordered({a}, {b})"
        elif is_real(kind):
            is_true_unordered = comparison.endswith("u")
            code = f"{a} {COMPARISONS[comparison[:2]]} {b}"
            code = f"is_unordered({a}, {b}) || {code}" if is_true_unordered else f"!is_unordered({a}, {b}) && {code}"
        else:
            code = f"{a} {COMPARISONS[comparison]} {b}"
        if len(it.operands) > 3:
            [combined] = [word for word in it.words[2:-1] if word in ("and", "or", "xor")]
            code = f"({code}) {dict(zip(('and', 'or', 'xor'), ('&&', '||', '!=')))[combined]} {self.predicate(it.operands[3])}"
        return f"{self.register(it.operands[0])} = {code};"

    # Arithmetic.

    def binary(self, it):
        kind, sign = it.words[-1], OPERATORS[it.words[0]]
        self.demand(it, not {"sat", "rm", "rp", "rz", "cc"} & set(it.words))
        if kind == "pred":
            a, b = (self.predicate(operand) for operand in it.operands[1:])
            return f"{self.register(it.operands[0])} = {a} {sign} {b};"
        kind = unsigned(kind)  # the bits are the same, and nothing overflows
        a, b = (self.value(operand, kind) for operand in it.operands[1:])
        code = f"static_cast<{kind}>({a} {sign} {b})"
        return self.put(it.operands[0], f"flushed({code})" if "ftz" in it.words else code)

    of_add = of_sub = of_and = of_or = of_xor = binary

    def of_mul(self, it):
        kind = it.words[-1]
        a, b = it.operands[1:]
        if "wide" in it.words:
            return self.put(it.operands[0], f"static_cast<{wide(kind)}>({self.value(a, kind)}) * static_cast<{wide(kind)}>({self.value(b, kind)})")
        if "hi" in it.words:
            return self.put(it.operands[0], f"high_of_product<{kind}>({self.value(a, kind)}, {self.value(b, kind)})")
        return self.binary(it)

    def of_mad(self, it):
        kind = it.words[-1]
        if "wide" in it.words:
            a, b = (f"static_cast<{wide(kind)}>({self.value(operand, kind)})" for operand in it.operands[1:3])
            return self.put(it.operands[0], f"{a} * {b} + {self.value(it.operands[3], wide(kind))}")
        self.demand(it, "lo" in it.words)
        kind = unsigned(kind)
        a, b, c = (self.value(operand, kind) for operand in it.operands[1:])
        return self.put(it.operands[0], f"static_cast<{kind}>({a} * {b} + {c})")

    def of_fma(self, it):
        kind = it.words[-1]
        self.demand(it, is_real(kind) and not {"sat", "rp", "rz"} & set(it.words))
        given = ", ".join(self.value(operand, kind) for operand in it.operands[1:])
        code = f"{'fused_downward' if 'rm' in it.words else 'std::fma'}({given})"
        return self.put(it.operands[0], f"flushed({code})" if "ftz" in it.words else code)

    def of_div(self, it):
        kind, sign = it.words[-1], "/" if it.words[0] == "div" else "%"
        a, b = (self.value(operand, kind) for operand in it.operands[1:])
        return self.put(it.operands[0], f"static_cast<{kind}>({a} {sign} {b})")

    of_rem = of_div

    def function_of_one(self, it, code):
        """Of a real, as exactly as the processor has it; the device's approximations lie within two units in the last place."""
        value = self.value(it.operands[1], it.words[-1])
        if "ftz" in it.words:
            return self.put(it.operands[0], f"flushed({code.format(f'flushed({value})')})")
        return self.put(it.operands[0], code.format(value))

    def of_rcp(self, it):
        return self.function_of_one(it, "(1 / {})")

    def of_sqrt(self, it):
        return self.function_of_one(it, "std::sqrt({})")

    def of_rsqrt(self, it):
        return self.function_of_one(it, "(1 / std::sqrt({}))")

    def of_ex2(self, it):
        return self.function_of_one(it, "std::exp2({})")

    def of_lg2(self, it):
        return self.function_of_one(it, "std::log2({})")

    def of_sin(self, it):
        return self.function_of_one(it, "std::sin({})")

    def of_cos(self, it):
        return self.function_of_one(it, "std::cos({})")

    def of_neg(self, it):
        kind = it.words[-1]
        return self.put(it.operands[0], f"static_cast<{unsigned(kind)}>(-{self.value(it.operands[1], unsigned(kind))})")

    def of_not(self, it):
        kind = it.words[-1]
        if kind == "pred":
            return f"{self.register(it.operands[0])} = !{self.predicate(it.operands[1])};"
        return self.put(it.operands[0], f"static_cast<{unsigned(kind)}>(~{self.value(it.operands[1], unsigned(kind))})")

    def of_abs(self, it):
        kind = it.words[-1]
        return self.put(it.operands[0], f"static_cast<{kind}>(std::abs({self.value(it.operands[1], kind)}))")

    def of_copysign(self, it):
        kind = it.words[-1]
        return self.put(it.operands[0], f"std::copysign({self.value(it.operands[2], kind)}, {self.value(it.operands[1], kind)})")

    def of_min(self, it):
        kind = it.words[-1]
        self.demand(it, "NaN" not in it.words)
        a, b = (self.value(operand, kind) for operand in it.operands[1:])
        return self.put(it.operands[0], f"{'least' if it.words[0] == 'min' else 'largest'}<{kind}>({a}, {b})")

    of_max = of_min

    def of_shl(self, it):
        kind = it.words[-1] if it.words[0] == "shr" else unsigned(it.words[-1])
        shift = "shift_left" if it.words[0] == "shl" else "shift_right"
        return self.put(it.operands[0], f"{shift}<{kind}>({self.value(it.operands[1], kind)}, {self.value(it.operands[2], 'u32')})")

    of_shr = of_shl

    def of_shf(self, it):
        given = ", ".join(self.value(operand, "u32") for operand in it.operands[1:])
        side = "left" if it.words[1] == "l" else "right"
        return self.put(it.operands[0], f"funnel_{side}({given}, {'true' if it.words[2] == 'wrap' else 'false'})")

    def of_lop3(self, it):
        self.demand(it, len(it.operands) == 5)
        return self.put(it.operands[0], f"three_word_logic({', '.join(self.value(operand, 'u32') for operand in it.operands[1:])})")

    def of_prmt(self, it):
        self.demand(it, it.words == ["prmt", "b32"])
        return self.put(it.operands[0], f"permuted({', '.join(self.value(operand, 'u32') for operand in it.operands[1:])})")

    def of_bfi(self, it):
        kind = unsigned(it.words[-1])
        a, b = (self.value(operand, kind) for operand in it.operands[1:3])
        return self.put(it.operands[0], f"bits_inserted<{kind}>({a}, {b}, {', '.join(self.value(operand, 'u32') for operand in it.operands[3:])})")

    def of_bfe(self, it):
        kind = it.words[-1]
        return self.put(it.operands[0], f"bits_extracted<{kind}>({self.value(it.operands[1], kind)}, "
                                        f"{', '.join(self.value(operand, 'u32') for operand in it.operands[2:])})")

    def of_dp2a(self, it):
        a, b, c = (self.value(operand, "u32") for operand in it.operands[1:])
        return self.put(it.operands[0], f"two_products<{it.words[2][0]}16, {it.words[3][0]}8>({a}, {b}, {c}, {16 * (it.words[1] == 'hi')})")

    def of_dp4a(self, it):
        a, b, c = (self.value(operand, "u32") for operand in it.operands[1:])
        return self.put(it.operands[0], f"four_products<{it.words[1][0]}8, {it.words[2][0]}8>({a}, {b}, {c})")

    def of_popc(self, it):
        return self.put(it.operands[0], f"std::popcount({self.value(it.operands[1], unsigned(it.words[-1]))})")

    def of_clz(self, it):
        return self.put(it.operands[0], f"std::countl_zero({self.value(it.operands[1], unsigned(it.words[-1]))})")

    def of_cvt(self, it):
        to, source = it.words[-2:]
        if to == "tf32":
            self.demand(it, "rna" in it.words)
            return self.put(it.operands[0], f"ptx::to_tf32({self.value(it.operands[1], 'f32')})")
        if "f16" in (to, source) or "bf16" in (to, source):
            return self.half_conversion(it, to, source)
        value = self.value(it.operands[1], source)
        if "sat" in it.words:
            self.demand(it, to == source == "f32")
            return self.put(it.operands[0], f"({value} > 0 ? ({value} < 1 ? {value} : 1.0F) : 0.0F)")
        rounding = next((word for word in it.words if word in ROUNDINGS), None)
        rounded = f"{ROUNDINGS[rounding]}({value})" if rounding else value
        if is_real(source) and not is_real(to):
            self.demand(it, rounding is not None)
            return self.put(it.operands[0], f"to_integer<{to}>({rounded})")
        self.demand(it, not {"rm", "rp", "rz"} & set(it.words))
        code = f"static_cast<{to}>({rounded})"
        return self.put(it.operands[0], f"flushed({code})" if "ftz" in it.words and is_real(to) else code)

    def half_conversion(self, it, to, source):
        """Of two bytes: in the registers of instructions that take them as bits."""
        if source == "f16":
            self.demand(it, to == "f32")
            return self.put(it.operands[0], f"ptx::from_f16({self.value(it.operands[1], 'u16')})")
        if source == "bf16":
            self.demand(it, to == "f32")
            return self.put(it.operands[0], f"as<f32>(static_cast<u32>({self.value(it.operands[1], 'u16')}) << 16U)")
        self.demand(it, source == "f32" and "rn" in it.words and not {"satfinite", "relu"} & set(it.words))
        return self.put(it.operands[0], f"ptx::to_{to}({self.value(it.operands[1], 'f32')})")

    # Threads and control.

    def of_bar(self, it):
        if it.words[1] == "warp":
            return "host_cuda::synchronize_warp();"
        self.demand(it, it.words == ["bar", "sync"] and it.operands == ["0"])
        return "host_cuda::synchronize_block();"

    of_barrier = of_bar

    def of_shfl(self, it):
        self.demand(it, it.words == ["shfl", "sync", "bfly", "b32"])
        given = ", ".join(self.value(operand, "u32") for operand in it.operands[1:])
        return self.put(it.operands[0].split("|")[0], f"::ptx_words::from_lane_xor({given})")

    def of_nanosleep(self, it):
        return "host_cuda::pause();"

    def of_trap(self, it):
        return "host_cuda::trap();"

    def of_bra(self, it):
        return f"goto {self.label(it.operands[0])};"

    def of_ret(self, it):
        return "return;"

    of_exit = of_ret

    def of_call(self, it):
        results = ptx_text.parts(it.operands[0][1:-1]) if it.operands[0].startswith("(") else []
        name, *rest = it.operands[bool(results):]
        given = ptx_text.parts(rest[0][1:-1]) if rest else []
        return f"{name}({', '.join([*results, *given])});"

    def of_ldmatrix(self, it):
        names = members(it.operands[0])
        self.demand(it, "m8n8" in it.words and f"x{len(names)}" in it.words and it.words[-1] == "b16")
        turned = "true" if "trans" in it.words else "false"
        puts = " ".join(self.put(name, f"elements[{i}]") for i, name in enumerate(names))
        return (f"{{ u32 elements[{len(names)}]; ptx::load_matrices<{turned}>(elements, reinterpret_cast<const void*>("
                f"{self.address(it.operands[1], 'shared')})); {puts} }}")

    def of_mma(self, it):
        shape, kind = it.words[3], it.words[-2]
        self.demand(it, (shape, kind) in (("m16n8k16", "f16"), ("m16n8k16", "bf16"), ("m16n8k8", "tf32"))
                    and it.words[4:7] == ["row", "col", "f32"] and it.words[-1] == "f32")
        to, rows, columns, sums = (members(operand) for operand in it.operands)
        lists = [", ".join(self.value(name, kind) for name in names) for names, kind in ((sums, "f32"), (rows, "u32"), (columns, "u32"))]
        puts = " ".join(self.put(name, f"sums[{i}]") for i, name in enumerate(to))
        return (f"{{ float sums[4] = {{{lists[0]}}}; const u32 rows[4] = {{{lists[1]}}}, columns[2] = {{{lists[2]}}}; "
                f"ptx::multiply_{kind}(sums, rows, columns); {puts} }}")


def declaration(function):
    places = ", ".join(f"unsigned char* {place.name}" for place in [*function.results, *function.parameters])
    return f"static void {function.name}({places})"


def data(variable):
    """A variable of the device's memory; generic(x) is the address of x."""
    values = [re.sub(r"generic\(([\w$]+)\)", r"reinterpret_cast<u64>(&\1)", value) for value in variable.values]
    return (f"alignas({variable.alignment}) [[maybe_unused]] static {unsigned(variable.kind)} {variable.name}"
            f"[{max(1, variable.count)}] = {{{', '.join(values)}}};")


def entry(function, names):
    """A function that the host calls for a kernel whose name is one of these. Its parameters are taken by value."""
    [name] = [name for name in names if name in function.name] or [None]
    if name is None:
        return ""
    given = ", ".join(f"const void* parameter_{i}" for i in range(len(function.parameters)))
    handed = ", ".join(f"static_cast<unsigned char*>(const_cast<void*>(parameter_{i}))" for i in range(len(function.parameters)))
    return f"void ptx_{name}({given}) {{ {function.name}({handed}); }}"


def translated(text, entries):
    """C++ of a file of PTX, with a function ptx_NAME for each of the kernels with these names."""
    module = ptx_text.read(text)
    lines = [HEAD, *map(data, module.variables)]
    lines += [f"[[maybe_unused]] {declaration(function)};" for function in module.functions]
    for function in module.functions:
        lines.append(f"{declaration(function)} {{\n{Translation(module, function).text()}\n}}")
    lines += [entry(function, entries) for function in module.functions if function.is_entry]
    return "\n".join(lines) + "\n"
