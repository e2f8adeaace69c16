"""Write a tiny language model with random weights: real to llama.cpp, meaningless to read.

300 kB, one layer, a vocabulary of bytes. Enough to load, tokenize, follow a grammar and stop.
"""

import random
import struct
from array import array
from pathlib import Path

_WIDTH, _HEADS, _FEED, _CONTEXT = 64, 4, 128, 4_096
_ALIGNMENT = 32
_U32, _F32, _BOOL, _STRING, _ARRAY, _I32 = 4, 6, 7, 8, 9, 5

_Tensor = tuple[tuple[int, ...], "array[float]"]
_Value = int | float | bool | str | list[str] | list[float] | list[int]


def write_tiny_gguf(path: Path, *, seed: int = 0, chat_template: str = "") -> Path:
    """Write the model; the same seed gives the same bytes."""
    entries = _entries()
    if chat_template:
        entries["tokenizer.chat_template"] = chat_template
    tensors = _tensors(random.Random(seed))
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(entries))
    infos, data = b"", b""
    for name, (shape, values) in tensors.items():
        # The innermost dimension comes first, and 0 is the type of 32-bit floats.
        dims = struct.pack(f"<{len(shape)}Q", *reversed(shape))
        infos += _text(name) + struct.pack("<I", len(shape)) + dims
        infos += struct.pack("<IQ", 0, len(data))
        data += _padded(values.tobytes())
    meta = b"".join(_text(key) + _value(value) for key, value in entries.items())
    path.write_bytes(_padded(head + meta + infos) + data)
    return path


def _entries() -> dict[str, _Value]:
    ascii_tokens = [chr(code) for code in range(33, 127)]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += ["\u2581", *ascii_tokens]
    # 2 unknown, 3 control, 6 byte, 1 normal.
    kinds = [2, 3, 3] + [6] * 256 + [1] * (1 + len(ascii_tokens))
    return {
        "general.architecture": "llama",
        "llama.context_length": _CONTEXT,
        "llama.embedding_length": _WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": _FEED,
        "llama.attention.head_count": _HEADS,
        "llama.attention.head_count_kv": _HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": _WIDTH // _HEADS,
        "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * len(tokens),
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_space_prefix": False,
    }


def _tensors(rng: random.Random) -> dict[str, _Tensor]:
    vocabulary = 3 + 256 + 1 + 94

    def noise(*shape: int) -> _Tensor:
        count = shape[0] * shape[1]
        return shape, array("f", (rng.gauss(0, 0.05) for _ in range(count)))

    ones = ((_WIDTH,), array("f", [1.0] * _WIDTH))
    layer = "blk.0."
    square = {f"{layer}attn_{name}.weight": noise(_WIDTH, _WIDTH) for name in ("q", "k", "v")}
    return {
        "token_embd.weight": noise(vocabulary, _WIDTH),
        "output.weight": noise(vocabulary, _WIDTH),
        "output_norm.weight": ones,
        f"{layer}attn_norm.weight": ones,
        f"{layer}ffn_norm.weight": ones,
        **square,
        f"{layer}attn_output.weight": noise(_WIDTH, _WIDTH),
        f"{layer}ffn_gate.weight": noise(_FEED, _WIDTH),
        f"{layer}ffn_up.weight": noise(_FEED, _WIDTH),
        f"{layer}ffn_down.weight": noise(_WIDTH, _FEED),
    }


def _value(value: _Value) -> bytes:
    if isinstance(value, list):
        items = b"".join(_scalar(item)[1] for item in value)
        return struct.pack("<IIQ", _ARRAY, _scalar(value[0])[0], len(value)) + items
    kind, packed = _scalar(value, unsigned=True)
    return struct.pack("<I", kind) + packed


def _scalar(value: int | float | bool | str, *, unsigned: bool = False) -> tuple[int, bytes]:
    if isinstance(value, str):
        return _STRING, _text(value)
    if isinstance(value, bool):
        return _BOOL, struct.pack("<?", value)
    if isinstance(value, int):
        return (_U32, struct.pack("<I", value)) if unsigned else (_I32, struct.pack("<i", value))
    return _F32, struct.pack("<f", value)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGNMENT)
