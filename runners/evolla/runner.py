"""The runner of Evolla, as the transformers package has it: answers a question about one protein chain from its sequence and the
states of the structural alphabet 3Di."""

import time
from importlib.metadata import version

import foldrun
import torch
from foldrun import Failure
from protein import MOST, Unreadable, read
from transformers import EvollaForProteinText2Text, EvollaProcessor, StoppingCriteria, StoppingCriteriaList
from transformers.utils import logging

SYSTEM = "You are an AI expert that can answer any questions about protein."
MOST_TEXT = 512  # tokens of the prompt: the processor cuts off what is beyond without a word
MOST_ANSWER = 512  # tokens, where the weights' own settings name no number
# A folder of random weights has this file, so that no answer of it passes for one.
RANDOM = "RANDOM_WEIGHTS"


class Evolla(foldrun.Runner):
    engine = "evolla"
    kinds = ("qna",)

    def load(self, request):
        logging.disable_progress_bar()
        torch.set_grad_enabled(False)
        if request.threads:
            torch.set_num_threads(request.threads)
        folder, self.device = request.weights_dir, torch.device(request.device)
        found = sorted(folder.glob("*.safetensors")) if folder and folder.is_dir() else []
        if not found or not (folder / "config.json").is_file():
            raise Failure("weights_missing", "the weights of evolla are not complete: config.json and the .safetensors files are needed")
        self.random, digest = (folder / RANDOM).exists(), foldrun.Digest(found)
        kind = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        self.processor = EvollaProcessor.from_pretrained(folder, local_files_only=True)
        self.model = EvollaForProteinText2Text.from_pretrained(folder, dtype=kind, local_files_only=True).eval().to(self.device)
        self.most = self.model.generation_config.max_new_tokens or MOST_ANSWER
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"
        detail = {"torch": torch.__version__, "mini3di": version("mini3di"), "random_weights": self.random}
        return foldrun.Ready("transformers " + version("transformers"), digest.hex(), name, detail=detail)

    def predict(self, job):
        if job.kind != "qna":
            raise Failure("unsupported", f"evolla answers questions; it does no {job.kind}")
        began = time.monotonic()
        job.progress("prepare")
        path = job.input_file("structure")
        if path is None:
            raise Failure("invalid_input", "the question has no structure")
        try:
            chain = read(path, bool(job.input.get("predicted")))
        except Unreadable as e:
            raise Failure("invalid_input", str(e)) from None
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": job.input["question"]}]
        self.fits(messages)
        proteins = [{"aa_seq": chain.sequence, "foldseek": chain.states}]
        # One mark of begin and one of end stand around the residues.
        inputs = self.processor(proteins=proteins, messages_list=[messages], protein_max_length=MOST + 2, text_max_length=MOST_TEXT).to(self.device)
        prepared = time.monotonic()
        answer, tokens = self.generate(job, inputs)
        notes = list(chain.notes)
        if self.random:
            notes.append("The weights of this model are random: the answer is words in no order, and shows only that the service works.")
        timings = {"prepare": prepared - began, "answer": time.monotonic() - prepared}
        metrics = {"chain": chain.name, "residues": len(chain.sequence), "masked": chain.states.count("#"), "tokens": tokens}
        return foldrun.Result(answer=answer, timings=timings, metrics=metrics, notes=notes)

    def fits(self, messages):
        tokenizer = self.processor.tokenizer
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        tokens = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        if tokens > MOST_TEXT:
            raise Failure("too_large", f"the question is too long for evolla: {tokens} tokens with its frame; it takes {MOST_TEXT}")

    def generate(self, job, inputs):
        """The answer, and how many tokens it has. The most likely token is taken each time, so the same question has one answer."""
        start, most = inputs["input_ids"].shape[1], self.most

        class Follow(StoppingCriteria):
            def __call__(self, input_ids, scores, **kwargs):
                job.progress("answer", input_ids.shape[1] - start, most)
                return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

        job.progress("answer", 0, most)
        out = self.model.generate(**inputs, max_new_tokens=most, do_sample=False, use_cache=True, stopping_criteria=StoppingCriteriaList([Follow()]))
        own = out[0, start:]
        answer = self.processor.tokenizer.decode(own, skip_special_tokens=True).strip()
        if not answer:
            raise Failure("output_invalid", "evolla gave an empty answer")
        return answer, int(own.shape[0])


if __name__ == "__main__":
    foldrun.serve(Evolla())
