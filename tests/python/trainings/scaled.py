"""Mixed precision with a GradScaler whose first step overflows, workers, and a validation."""

import torch
from torch import nn

torch.manual_seed(1)
data = torch.utils.data.TensorDataset(torch.randn(24, 6), torch.randn(24, 2))
loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for epoch in range(2):
    model.train()
    for n, (x, y) in enumerate(loader):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss * (float("inf") if n == epoch == 0 else 1)).backward()
        scaler.step(optimizer)
        scaler.update()
        print(loss.item())
    model.eval()
    with torch.no_grad():
        print(sum(nn.functional.mse_loss(model(x), y).item() for x, y in loader))
