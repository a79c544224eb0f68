"""DistributedDataParallel on Gloo."""

import slow
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
slow.train(torch.nn.parallel.DistributedDataParallel(slow.Net()))
dist.destroy_process_group()
