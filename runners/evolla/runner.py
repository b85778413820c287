"""The runner of Evolla as implemented in the transformers package: it answers a question about one protein chain from
its sequence and its states in the structural alphabet 3Di."""

import time
from importlib.metadata import version
from typing import Any

import torch
from transformers import EvollaForProteinText2Text, EvollaProcessor, StoppingCriteria, StoppingCriteriaList
from transformers.utils import logging

import foldrun
from foldrun import Failure, Job, invalid, pytorch, too_large, weights
from protein import MAX_RESIDUES, read

SYSTEM = "You are an AI expert that can answer any questions about protein."
MAX_PROMPT = 512  # tokens; the processor silently cuts a longer prompt
MAX_ANSWER = 512  # tokens, where the settings of the weights give no number
RANDOM_NOTE = (
    "The weights of this model are random: the answer is words in no order, and shows only that the service works."
)


class Evolla(foldrun.Runner):
    """Evolla of the package transformers: answers questions about a structure."""

    engine = "evolla"
    kinds = ("qna",)

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.random = False
        self.processor: Any = None
        self.model: Any = None
        self.most = MAX_ANSWER

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        logging.disable_progress_bar()
        pytorch.prepare(request.threads)
        folder = weights.require(request.model, request.weights_dir, ["config.json"])
        files = sorted(folder.glob("*.safetensors"))
        if not files:
            raise Failure(
                "weights_missing", "the weights of evolla are not complete: the .safetensors files are missing"
            )
        self.device = torch.device(request.device)
        self.random = weights.are_random(folder)
        digest = foldrun.Digest(files)
        kind = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        self.processor = EvollaProcessor.from_pretrained(folder, local_files_only=True)
        model = EvollaForProteinText2Text.from_pretrained(folder, dtype=kind, local_files_only=True)
        self.model = model.eval().to(self.device)
        self.most = self.model.generation_config.max_new_tokens or MAX_ANSWER
        return foldrun.Ready(
            engine_version="transformers " + version("transformers"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            detail={"torch": torch.__version__, "mini3di": version("mini3di"), "random_weights": self.random},
        )

    def predict(self, job: Job) -> foldrun.Result:
        began = time.monotonic()
        job.progress("prepare")
        path = job.input_file("structure")
        if path is None:
            raise invalid("the question has no structure")
        chain = read(path, bool(job.input.get("predicted")))
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": job.input["question"]}]
        self.check_length(messages)
        inputs = self.processor(
            proteins=[{"aa_seq": chain.sequence, "foldseek": chain.states}],
            messages_list=[messages],
            protein_max_length=MAX_RESIDUES + 2,  # with the tokens that mark start and end
            text_max_length=MAX_PROMPT,
        ).to(self.device)
        prepared = time.monotonic()
        answer, tokens = self.generate(job, inputs)
        notes = chain.notes + ([RANDOM_NOTE] if self.random else [])
        metrics = {
            "chain": chain.name,
            "residues": len(chain.sequence),
            "masked": chain.states.count("#"),
            "tokens": tokens,
        }
        timings = {"prepare": prepared - began, "answer": time.monotonic() - prepared}
        return foldrun.Result(answer=answer, timings=timings, metrics=metrics, notes=notes)

    def check_length(self, messages: list[dict[str, str]]) -> None:
        """Refuses a question whose prompt the processor would cut."""
        tokenizer = self.processor.tokenizer
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        tokens = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        if tokens > MAX_PROMPT:
            raise too_large(
                f"the question is too long for evolla: {tokens} tokens with its frame; it takes {MAX_PROMPT}"
            )

    def generate(self, job: Job, inputs: Any) -> tuple[str, int]:
        """The answer and its number of tokens. Each token is the most likely one, so the same question has one
        answer."""
        start, most = inputs["input_ids"].shape[1], self.most

        class Follow(StoppingCriteria):
            def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
                job.progress("answer", input_ids.shape[1] - start, most)
                return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

        job.progress("answer", 0, most)
        out = self.model.generate(
            **inputs,
            max_new_tokens=most,
            do_sample=False,
            use_cache=True,
            stopping_criteria=StoppingCriteriaList([Follow()]),
        )
        own = out[0, start:]
        answer = self.processor.tokenizer.decode(own, skip_special_tokens=True).strip()
        if not answer:
            raise Failure("output_invalid", "evolla gave an empty answer")
        return answer, int(own.shape[0])


if __name__ == "__main__":
    foldrun.serve(Evolla())
