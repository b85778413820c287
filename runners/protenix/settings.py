"""The package's settings of a model, as `protenix pred` has them, without the module of that command.

The package has that command in a module named runner, which is also the name of this runner's program.
"""

from collections.abc import Mapping
from typing import Any

from configs.configs_base import configs as base
from configs.configs_data import data_configs
from configs.configs_inference import inference_configs
from configs.configs_model_type import model_configs
from ml_collections.config_dict import ConfigDict
from protenix.config.config import parse_configs

# Model of the manifest → the package's name of it, which is also that of its weights.
MODELS = {"protenix": "protenix_base_default_v1.0.0", "protenix-v2": "protenix-v2"}
# Above this many tokens the package computes the confidence of v1 in half precision.
FULL_PRECISION = 2560


def settings(name: str, sizes: Mapping[str, Any]) -> ConfigDict:
    """The settings of the package's model of this name; sizes are differences by dotted name."""
    out = parse_configs(
        {**base, "data": data_configs, **inference_configs, "model_name": name}, fill_required_with_null=True
    )
    out.update(ConfigDict(model_configs[name]))
    out.update_from_flattened_dict(dict(sizes))
    # The kernels of NVIDIA GPUs are not in the environment.
    out.triangle_multiplicative = out.triangle_attention = "torch"
    out.enable_efficient_fusion = False
    return out


def for_tokens(configs: ConfigDict, tokens: int) -> None:
    """Sets which parts compute in full precision on a GPU, as the package's update_inference_configs does."""
    configs.skip_amp.confidence_head = tokens <= FULL_PRECISION and configs.model_name != MODELS["protenix-v2"]
    configs.skip_amp.sample_diffusion = tokens <= 3840
