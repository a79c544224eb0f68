"""DistributedDataParallel on Gloo, with batches that no DataLoader makes."""

import slow
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
slow.train_without_loader(torch.nn.parallel.DistributedDataParallel(slow.Net()))
dist.destroy_process_group()
