"""FullyShardedDataParallel (fully_shard) on CPUs with Gloo."""

import slow
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
model = slow.Net()
fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
slow.train(model)
dist.destroy_process_group()
