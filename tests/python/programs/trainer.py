"""Hugging Face's Trainer with a tiny model."""

import tempfile

import slow
import torch
from transformers import Trainer, TrainingArguments


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = slow.Net()

    def forward(self, points=None, **_):
        return {"loss": self.net(points).square().mean()}


class Points(slow.Data):
    def __getitem__(self, i):
        return {"points": torch.ones(64)}


with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=slow.BATCH,
        max_steps=slow.STEPS,
        report_to=[],
        save_strategy="no",
        logging_steps=20,
        use_cpu=True,
        ddp_backend="gloo",
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        disable_tqdm=True,
    )
    Trainer(model=Model(), args=arguments, train_dataset=Points()).train()
