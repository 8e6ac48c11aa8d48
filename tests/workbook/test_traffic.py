"""Traffic: DeepSeek-V3's step on 2048 H800 from closed formulas, what is conserved, and limits.

With P = 671e9 parameters in BF16 and 30,720 tokens per device and step, on nodes of 8.
"""

from typing import Any

import pytest

from workbook import study
from workbook.analysis import analysis

COLUMNS = study.load().columns
FSDP = {"zero_stage": "ZeRO-3", "micro_batch_size": 7.5, "recomputation": "none"}
DEEPSEEK = {"pipeline_parallel_size": 16, "expert_parallel_size": 64, "pipeline_schedule": "DualPipe"}
STRATEGIES = {name: dict(inputs) for name, inputs in study.load().strategies.items()}


def values(**inputs: Any) -> dict[str, Any]:
    return analysis.compute(inputs, COLUMNS)


def close(expected: float) -> Any:
    return pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize(
    ("bandwidth_model", "network", "bandwidth", "one", "three"),
    [
        ("flat", "scale_out", 50e9, 26.84, 80.5),
        ("flat", "scale_out", 40e9, 33.55, 100.7),
        ("hierarchical", "scale_out", 50e9, 3.355, 10.07),
        ("hierarchical", "scale_up", 160e9, 7.34, 22.0),
    ],
)
def test_zero3_collectives(bandwidth_model: str, network: str, bandwidth: float, one: float, three: float) -> None:
    """2 P bytes per collective at the NIC's 50 GB/s, DeepSeek's effective 40 (arXiv 2505.09343, section 4.3), a node's
    8 x 50, or 7/8 of them at NVLink's 160; gathers in forward and backward, one reduction (arXiv 1910.02054, 7.2.2)."""
    ours = values(**FSDP, bandwidth_model=bandwidth_model, **{f"{network}_measured": bandwidth})
    assert (ours["weight_gathers"], ours["gradient_collectives"]) == (2, 1)
    assert ours[f"{network}_time"] == close(three)
    assert ours[f"{network}_time"] / 3 == close(one)


def test_fp8_gathers_halve_the_gathers() -> None:
    """Two of three collectives at half the bytes."""
    bf16, fp8 = (values(**FSDP, precision=f"FP8 (DeepSeek-V3){more}") for more in ("", ", FP8 gathers"))
    assert fp8["dense_gather_tensor"] == bf16["dense_gather_tensor"] / 2
    assert fp8["scale_out_time"] == pytest.approx(bf16["scale_out_time"] * 2 / 3)
    assert fp8["scale_out_time"] == close(80.5 * 2 / 3)


def test_every_micro_batch_gathers_again() -> None:
    """7.5 sequences per device as micro-batches of one: 15 gathers of 26.84 s, not 2."""
    ours = values(**FSDP | {"micro_batch_size": 1})
    assert ours["num_microbatches"] == 7.5
    assert ours["weight_gathers"] == 7.5 * values(**FSDP)["weight_gathers"] == 15
    assert ours["scale_out_time"] == close((15 + 7.5) * 26.84)


@pytest.mark.parametrize(
    ("dispatch", "copies", "gigabytes", "at_50", "at_40"),
    [("expected", 3.5, 268.2, 5.36, 6.71), ("worst case", 4, 306.5, 6.13, 7.66)],
)
def test_expert_all_to_all(dispatch: str, copies: float, gigabytes: float, at_50: float, at_40: float) -> None:
    """FP8 dispatch and BF16 combine, there and back: 6 bytes x 7168 x 58 layers x 30,720 tokens per copy, to at most 4
    of 8 nodes (DeepSeek-V3 report, arXiv 2412.19437, sections 3.2.2 and 3.3.2)."""
    ours = values(**DEEPSEEK, expert_dispatch=f"one copy per node, {dispatch}", dispatch_bytes=1)
    assert ours["expert_scale_out_copies"] == copies
    assert ours["expert_bytes_per_copy"] == 30_720 * 58 * 7168 * 6
    assert ours["expert_scale_out_bytes"] == close(gigabytes * 1e9)
    assert ours["expert_scale_out_bytes"] / 50e9 == close(at_50)
    assert ours["expert_scale_out_bytes"] / 40e9 == close(at_40)


def test_pipeline_messages() -> None:
    """120 sequences of 4096 tokens, activations on and gradients back in BF16: 14.1 GB, 0.282 s at 50 GB/s."""
    ours = values(**DEEPSEEK)
    assert ours["pipeline_scale_out_bytes"] == 2 * 2 * 7168 * 120 * 4096 == close(14.1e9)
    assert ours["pipeline_scale_out_bytes"] / 50e9 == close(0.282)


def test_two_stages_send_half() -> None:
    """The first stage sends activations only, the last gradients only."""
    two, four = (values(pipeline_parallel_size=size) for size in (2, 4))
    assert two["pipeline_bytes"] / two["tokens_per_rank"] == four["pipeline_bytes"] / four["tokens_per_rank"] / 2
    assert values()["pipeline_bytes"] == 0


@pytest.mark.parametrize("name", STRATEGIES)
def test_entering_a_node_once_never_takes_more_scale_out(name: str) -> None:
    flat, hierarchical = (
        values(**STRATEGIES[name] | {"bandwidth_model": choice}) for choice in ("flat", "hierarchical")
    )
    assert hierarchical["scale_out_bytes"] <= flat["scale_out_bytes"]
    assert hierarchical["scale_up_bytes"] >= flat["scale_up_bytes"]


@pytest.mark.parametrize(
    "group", ["shard", "expert_shard", "replica", "expert_replica", "tensor", "context", "expert_tensor"]
)
def test_a_rank_receives_all_that_it_does_not_hold(group: str) -> None:
    """Flat: both networks together bring (n - 1) / n of a tensor, as ring algorithms do (Rajbhandari et al. 2020,
    arXiv 1910.02054, section 7.1)."""
    ours = values(
        tensor_parallel_size=16, pipeline_parallel_size=4, data_parallel_replicas=4, expert_parallel_size=4,
        context_parallel_size=2, expert_tensor_parallel_size=4,
    )  # fmt: skip
    sizes = {
        "shard": ours["shard_size"], "expert_shard": ours["expert_shard_size"], "tensor": 16,
        "replica": 4, "expert_replica": 4, "context": 2, "expert_tensor": 4,
    }  # fmt: skip
    shares = ours[f"{group}_scale_out_share"] + ours[f"{group}_scale_up_share"]
    assert shares == pytest.approx((sizes[group] - 1) / sizes[group])


@pytest.mark.parametrize("bandwidth_model", ["flat", "hierarchical"])
@pytest.mark.parametrize("name", STRATEGIES)
def test_inside_one_node_nothing_goes_out(name: str, bandwidth_model: str) -> None:
    ours = values(**STRATEGIES[name] | {"scale_up_domain": 2048, "bandwidth_model": bandwidth_model})
    assert ours["scale_out_bytes"] == 0
    assert ours["scale_up_bytes"] > 0


def test_groups_of_one_send_nothing() -> None:
    ours = values(devices=1, model="llama-3.2-1b", zero_stage="ZeRO-3")
    assert ours["scale_out_bytes"] == ours["scale_up_bytes"] == 0


def test_single_rank_nodes_have_no_scale_up() -> None:
    for inputs in STRATEGIES.values():
        assert values(**inputs | {"scale_up_domain": 1})["scale_up_bytes"] == 0


def test_routing_without_a_node_limit_reaches_more_nodes() -> None:
    """Kimi K2 has no expert groups (n_group 1): 8 experts on 8 nodes hit 8 (1 - (7/8)^8) = 5.25 of them."""
    limited, unlimited = (values(model=model, **DEEPSEEK) for model in ("deepseek-v3", "kimi-k2"))
    assert unlimited["nodes_per_token"] == pytest.approx(8 * (1 - (7 / 8) ** 8))
    assert unlimited["expert_scale_out_copies"] > limited["expert_scale_out_copies"]


def test_a_copy_per_node_is_cheaper_than_a_copy_per_expert() -> None:
    """DeepEP forwards inside the node: 3.5 remote copies, where a plain all-to-all sends 8 x 7/8."""
    forwarding = values(**DEEPSEEK, expert_dispatch="one copy per node, expected")
    plain = values(**DEEPSEEK, expert_dispatch="one copy per expert")
    assert (forwarding["expert_scale_out_copies"], plain["expert_scale_out_copies"]) == (3.5, 7)
    assert forwarding["expert_scale_up_copies"] > plain["expert_scale_up_copies"]


def test_more_devices_share_the_tokens() -> None:
    few, many = (values(**DEEPSEEK, devices=devices) for devices in (2048, 4096))
    for key in ("expert_scale_out_bytes", "expert_scale_up_bytes", "pipeline_scale_out_bytes"):
        assert many[key] == few[key] / 2


def test_a_data_parallel_collective_hardly_depends_on_the_number_of_devices() -> None:
    """Each rank receives V (n - g) / n: it tends to V (Narayanan et al. 2021, arXiv 2104.04473, section 3.3.1)."""
    few, many = (
        values(**FSDP, devices=devices, global_batch_size=7.5 * devices)["scale_out_bytes"]
        for devices in (2048, 65_536)
    )
    assert few < many < few * 1.005


def test_zero_stages_send_as_their_paper_says() -> None:
    """Rajbhandari et al. 2020, arXiv 1910.02054, section 7: 2 V for DDP, ZeRO-1 and ZeRO-2, 3 V for ZeRO-3."""
    sent = [values(**FSDP | {"zero_stage": z})["scale_out_bytes"] for z in ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3")]
    assert [each / sent[0] for each in sent] == pytest.approx([1, 1, 1, 1.5])
    kept = values(**FSDP | {"zero_stage": "ZeRO-3, no reshard after forward"})["scale_out_bytes"]
    assert kept == pytest.approx(sent[0])


@pytest.mark.parametrize(("zero", "grows"), [("DDP", False), ("ZeRO-1", False), ("ZeRO-2", True), ("ZeRO-3", True)])
def test_sharded_gradients_are_reduced_with_every_micro_batch(zero: str, grows: bool) -> None:
    few, many = (values(**DEEPSEEK | {"zero_stage": zero, "micro_batch_size": size}) for size in (2, 1))
    assert many["num_microbatches"] == 2 * few["num_microbatches"]
    assert (many["data_parallel_scale_out_bytes"] > few["data_parallel_scale_out_bytes"]) == grows


def test_replicas_trade_memory_for_traffic() -> None:
    """HSDP (arXiv 2304.11277, section 3.2.2): gathers stay inside a node of 8, each shard's gradient is all-reduced."""
    ours = values(**FSDP | {"data_parallel_replicas": 256})
    assert ours["shard_size"] == ours["shard_ranks_in_node"] == 8
    gradients = 2 * ours["total_parameters"]
    assert ours["scale_out_bytes"] == pytest.approx(2 * gradients / 8 * 255 / 256, rel=1e-9)
    assert ours["scale_up_bytes"] == pytest.approx(3 * gradients * 7 / 8, rel=1e-9)


def test_tensor_parallel_traffic() -> None:
    """Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2: per block a gather and a reduce-scatter forward, both
    and another gather of the block's input backward, of s b h activations in BF16; (n - 1) / n comes from others."""
    tensor = {"model": "llama-3-70b", "tensor_parallel_size": 8, "precision": "BF16", "recomputation": "none"}
    ours = values(**tensor, devices=8, global_batch_size=1)
    assert ours["tensor_scale_up_bytes"] == 80 * 2 * (2 + 3) * 4096 * 8192 * 2 * 7 / 8
    assert ours["tensor_scale_out_bytes"] == 0
    twice = values(**tensor, devices=8, global_batch_size=1, num_hidden_layers=160, num_dense_layers=160)
    assert twice["tensor_scale_up_bytes"] == 2 * ours["tensor_scale_up_bytes"]
    full = values(**tensor | {"recomputation": "full"}, devices=8, global_batch_size=1)
    assert 5 * full["tensor_scale_up_bytes"] == 7 * ours["tensor_scale_up_bytes"]


def test_parallel_blocks_share_their_collectives() -> None:
    """Chowdhery et al. 2022, arXiv 2204.02311, section 2: one input and one output per layer, not two."""
    tensor = {"model": "llama-3-70b", "tensor_parallel_size": 8, "precision": "BF16"}
    apart, together = (values(**tensor, parallel_blocks=switch) for switch in (0, 1))
    assert together["tensor_scale_up_bytes"] == apart["tensor_scale_up_bytes"] / 2


def test_repeated_layers_send_to_experts_again() -> None:
    """Full recomputation runs the forward pass, its dispatch and combine included, a second time."""
    full, none = (values(**DEEPSEEK, recomputation=policy) for policy in ("full", "none"))
    assert full["expert_scale_out_bytes"] == 1.5 * none["expert_scale_out_bytes"]
    head = 2 * 2 * none["rank_output_parameters"] * none["microbatches_per_copy"]
    assert full["weight_hbm_bytes"] - head == pytest.approx(1.5 * (none["weight_hbm_bytes"] - head))


def test_prediction_layers_add_an_moe_layer_of_traffic() -> None:
    off, on = (values(**DEEPSEEK, multi_token_prediction=switch) for switch in ("off", "on"))
    assert on["expert_scale_out_bytes"] == pytest.approx(off["expert_scale_out_bytes"] * 59 / 58)


def test_dualpipe_synchronises_two_copies() -> None:
    """DeepSeek-V3 report, arXiv 2412.19437, Table 2: parameters 2x; both copies are updated together."""
    dual, single = (values(**DEEPSEEK | {"pipeline_schedule": schedule}) for schedule in ("DualPipe", "1F1B"))
    dense, experts = (2 * (single[f"{kind}_collective_bytes"]) for kind in ("dense", "expert"))
    assert (dual["dense_collective_bytes"], dual["expert_collective_bytes"]) == (dense, experts)
    assert (dual["shard_size"], dual["expert_shard_size"]) == (2 * 128, 2 * 2)
    assert dual["data_parallel_scale_out_bytes"] == pytest.approx(dense * 248 / 256 + experts * 3 / 4, rel=1e-12)
    assert dual["expert_scale_out_bytes"] == single["expert_scale_out_bytes"]


def test_the_optimizer_touches_its_shard_once() -> None:
    """8 bytes of master weight and moments, read and written: dense state over 128 ranks, experts over 2."""
    ours = values(**DEEPSEEK | {"pipeline_schedule": "1F1B"})
    dense, experts = ours["rank_dense_parameters"] / 128, ours["rank_expert_parameters"] / 2
    assert ours["optimizer_hbm_bytes"] == pytest.approx((dense + experts) * 8 * 2)


def test_hbm_traffic_of_a_small_model_from_scratch() -> None:
    """Weights read three times, the output matrix, which is the embedding, twice; FP32 gradients written, 12-byte
    optimizer states read and written, kept activations twice."""
    ours = values(model="llama-3.2-1b", devices=1, global_batch_size=1, precision="BF16", recomputation="full")
    weights = ours["total_parameters"]
    head = 128_256 * 2048
    activations = 16 * 2048 * 2 * 4096
    expected = weights * (3 * 2 + 4 + 2 * 12) - head * 2 + 2 * activations
    assert ours["hbm_bytes"] == pytest.approx(expected, rel=1e-4)  # the final norm is not counted


def test_two_copies_of_a_stage_share_its_micro_batches() -> None:
    """DualPipe: each micro-batch passes one of a device's two stages, so HBM moves no more weights than under 1F1B."""
    one, two = (values(**DEEPSEEK | {"pipeline_schedule": schedule}) for schedule in ("1F1B", "DualPipe"))
    assert two["weight_hbm_bytes"] == one["weight_hbm_bytes"]
    written = 4 * (one["rank_dense_parameters"] + one["rank_expert_parameters"])
    added = one["gradient_hbm_bytes"] - written
    assert two["gradient_hbm_bytes"] == pytest.approx(2 * written + added * 118 / 119, rel=1e-12)


def test_an_embedding_is_read_by_rows() -> None:
    """A table of its own adds gradients to write and states to update, but no matrix to multiply with."""
    inputs = {"model": "llama-3-8b", "devices": 1, "global_batch_size": 8, "precision": "BF16"}
    tied, untied = (values(**inputs, tied_embeddings=tied) for tied in (1, 0))
    table = 128_256 * 4096
    assert untied["total_parameters"] - tied["total_parameters"] == table
    assert untied["weight_hbm_bytes"] == tied["weight_hbm_bytes"]
    assert untied["hbm_bytes"] - tied["hbm_bytes"] == pytest.approx(table * (4 + 2 * 12))


def test_weights_are_read_as_they_are_multiplied() -> None:
    """FP8 copies of the weights, made once per step: a byte each in either pass, however they are kept; BF16 for the
    output head."""
    inputs = {"model": "llama-3-8b", "devices": 1, "global_batch_size": 8, "recomputation": "none"}
    head = 128_256 * 4096
    layers = 8_030_261_248 - 2 * head
    for recipe, kept, read in (("BF16", 2, 2), ("FP8 (current scaling)", 2, 1), ("NVFP4", 2, 0.5 + 1 / 256)):
        ours = values(**inputs, precision=recipe)
        assert ours["weight_bytes"] == kept
        assert ours["weight_hbm_bytes"] == pytest.approx(8 * 2 * (read * layers + 2 * head), rel=1e-5)


def test_sharded_gradients_are_not_added_up_whole() -> None:
    """FSDP (arXiv 2304.11277, section 4.4): each micro-batch's gradients exist in BF16 until they are reduced."""
    inputs = {"model": "llama-3-8b", "devices": 64, "global_batch_size": 512, "precision": "BF16"}
    whole, sharded = (values(**inputs, zero_stage=stage) for stage in ("ZeRO-1", "ZeRO-3"))
    matrices = 8_030_261_248 - 128_256 * 4096
    assert whole["gradient_hbm_bytes"] == pytest.approx(4 * (8_030_261_248 + 7 * 2 * matrices), rel=1e-4)
    assert sharded["gradient_hbm_bytes"] == pytest.approx(2 * 8 * 2 * matrices, rel=1e-4)


@pytest.mark.parametrize(("domain", "inside", "out"), [(1, 0, 2), (2, 1, 1), (4, 1, 1), (8, 2, 0)])
def test_stages_in_a_node_send_to_each_other_inside(domain: int, inside: int, out: int) -> None:
    """Eight stages side by side: one at the border of a node has one neighbour inside."""
    ours = values(model="llama-3-70b", precision="BF16", devices=64, pipeline_parallel_size=8, scale_up_domain=domain,
                  rank_order="pp-tp-cp-dp")  # fmt: skip
    message = ours["tokens_per_rank"] * ours["hidden_size"] * 2
    assert (ours["pipeline_scale_up_bytes"], ours["pipeline_scale_out_bytes"]) == (inside * message, out * message)


@pytest.mark.parametrize(
    ("schedule", "virtual", "messages"),
    [("1F1B", 1, 1), ("DualPipe", 1, 1), ("interleaved 1F1B", 2, 3), ("ZB-V", 2, 2), ("DualPipeV", 2, 2)],
)
def test_messages_between_two_devices(schedule: str, virtual: int, messages: int) -> None:
    """Chunks 0 1 0 1 have three borders between the two devices, chunks 0 1 1 0 of a V have two; each device sends
    activations or gradients over every one."""
    ours = values(pipeline_parallel_size=2, pipeline_schedule=schedule, virtual_stages=virtual)
    assert ours["pipeline_messages"] == messages


def test_a_micro_batch_leaves_each_node_once_on_its_way() -> None:
    """Sixteen stages, four to a node, there and back; DualPipe feeds the pipeline from both ends to its middle."""
    inputs = {"pipeline_parallel_size": 16, "scale_up_domain": 4, "rank_order": "pp-tp-cp-dp",
              "scale_up_latency": 1, "scale_out_latency": 100}  # fmt: skip
    assert values(**inputs)["pipeline_traversal_latency"] == 2 * (12 * 1 + 3 * 100)
    assert values(**inputs, pipeline_schedule="DualPipe")["pipeline_traversal_latency"] == 2 * (6 * 1 + 1 * 100)
    outermost = inputs | {"rank_order": "tp-cp-dp-pp"}
    assert values(**outermost)["pipeline_traversal_latency"] == 2 * 15 * 100


@pytest.mark.parametrize("bandwidth_model", ["flat", "hierarchical", "hierarchical, in-network reduction"])
def test_an_all_to_all_brings_each_rank_its_own_heads(bandwidth_model: str) -> None:
    """Ulysses (arXiv 2309.14509) on two nodes of 4: of what a rank gets, 3/7 is from its node, in whatever model."""
    ours = values(
        model="llama-3-70b", precision="BF16", devices=8, scale_up_domain=4, context_parallel_size=8,
        context_parallel_algorithm="Ulysses", bandwidth_model=bandwidth_model, recomputation="none",
        global_batch_size=1,
    )  # fmt: skip
    heads = 2 * 64 * 128 + 2 * 8 * 128  # queries and outputs, keys and values, each there and back
    sent = 4096 / 8 * 80 * 2 * 2 * heads
    assert ours["context_scale_up_bytes"] == pytest.approx(sent * 3 / 8)
    assert ours["context_scale_out_bytes"] == pytest.approx(sent * 4 / 8)


def test_latents_are_gathered_in_place_of_what_they_come_from() -> None:
    """Megatron-Core's MLA under TP: 1536 + 512 + 64 elements per token are gathered and their gradients reduced, where
    other attention gathers the residual stream of 7168."""
    inputs = {"devices": 8, "tensor_parallel_size": 8, "global_batch_size": 1, "precision": "BF16",
              "recomputation": "none", "num_dense_layers": 61, "n_routed_experts": 0}  # fmt: skip
    ours = values(**inputs)
    attention = 3 * 2112 + 2 * 7168
    assert ours["tensor_scale_up_bytes"] == pytest.approx(4096 * 61 * (attention + 5 * 7168) * 2 * 7 / 8)
    whole = values(**inputs, sequence_parallelism="off")
    assert whole["tensor_scale_up_bytes"] == pytest.approx(4096 * 61 * (2 * 2112 + 6 * 7168) * 2 * 7 / 8)


def test_linear_layers_gather_what_they_multiply() -> None:
    """Transformer Engine casts to FP8 before it gathers, inputs and gradients of outputs; reductions stay in BF16."""
    inputs = {"model": "llama-3-70b", "devices": 8, "tensor_parallel_size": 8, "global_batch_size": 1,
              "recomputation": "none", "precision": "FP8 (current scaling)"}  # fmt: skip
    on, off = (values(**inputs, sequence_parallelism=switch)["tensor_scale_up_bytes"] for switch in ("on", "off"))
    assert on == 80 * 2 * (3 * 1 + 2 * 2) * 4096 * 8192 * 7 / 8
    assert off == 80 * 2 * 4 * 2 * 4096 * 8192 * 7 / 8


def test_shared_experts_get_the_tokens_that_routed_ones_gather() -> None:
    inputs = {"devices": 64, "tensor_parallel_size": 8, "global_batch_size": 64}
    together, apart = (values(**inputs, expert_tensor_parallel_size=size) for size in (8, 1))
    assert (together["moe_tensor_blocks"], apart["moe_tensor_blocks"]) == (0, 1)
    assert values(**inputs, expert_tensor_parallel_size=8, expert_parallel_size=8)["moe_tensor_blocks"] == 1


def test_expert_tensor_ranks_gather_dispatched_rows() -> None:
    """One row per rank that a token was sent to, in the format of dispatch, and back in that of combine."""
    inputs = {"model": "mixtral-8x7b", "devices": 64, "expert_parallel_size": 8, "expert_tensor_parallel_size": 4,
              "global_batch_size": 64, "recomputation": "none",
              "expert_dispatch": "one copy per node, worst case"}  # fmt: skip
    for recipe, width in (("BF16", 2 + 2), ("FP8 (DeepSeek-V3)", 1.03125 + 2)):
        ours = values(**inputs, precision=recipe)
        assert ours["expert_tensor_collective_bytes"] == 4096 * 4 * 2 * 4096 * 32 * 2 * width


@pytest.mark.parametrize(("zero", "busier"), [("DDP", 1), ("ZeRO-1", 1), ("ZeRO-2", 4), ("ZeRO-3", 8)])
def test_switches_that_add_up_leave_one_direction(zero: str, busier: int) -> None:
    """With NVLink or InfiniBand SHARP a rank sends in a reduce-scatter and receives in an all-gather."""
    ours = values(model="llama-3-8b", devices=64, global_batch_size=256, precision="BF16", zero_stage=zero,
                  bandwidth_model="hierarchical, in-network reduction")  # fmt: skip
    assert ours["dense_collective_bytes"] == busier * ours["dense_reduce_tensor"]


@pytest.mark.parametrize(("sequence", "busier"), [("on", 3), ("off", 2)])
def test_switches_that_add_up_for_tensor_ranks(sequence: str, busier: int) -> None:
    ours = values(model="llama-3-70b", devices=8, tensor_parallel_size=8, global_batch_size=1, precision="BF16",
                  sequence_parallelism=sequence, bandwidth_model="hierarchical, in-network reduction")  # fmt: skip
    assert ours["tensor_collective_bytes"] == 80 * 2 * busier * 4096 * 8192 * 2
