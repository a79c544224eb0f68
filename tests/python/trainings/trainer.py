"""Hugging Face's Trainer: a tiny random model, two micro batches a step, evaluation every 3 steps."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.manual_seed(1)
config = GPT2Config(vocab_size=32, n_positions=16, n_embd=8, n_layer=2, n_head=2)
tokens = [{"input_ids": row, "labels": row} for row in torch.randint(32, (48, 16))]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=2,
        max_steps=6,
        eval_strategy="steps",
        eval_steps=3,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=1,
    )
    trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=tokens, eval_dataset=tokens)
    trainer.evaluate()
    trainer.train()
print([row["eval_loss"] for row in trainer.state.log_history if "eval_loss" in row])
