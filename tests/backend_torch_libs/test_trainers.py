"""Training loops of other libraries, unmodified: the weights are those of a loop written by hand.

``sign`` cuts the gradient of the first layer: without a rule it never moves.
"""

import copy
import re
from pathlib import Path

import accelerate
import lightning
import pytest
import surrogate_torch
import torch
import transformers
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import surrogate

RULES = {"sign": "hardtanh"}
STEPS, BATCH = 4, 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.last(torch.sign(self.first(x)))


@pytest.fixture
def data():
    numbers = torch.Generator().manual_seed(1)
    x = torch.randn(STEPS * BATCH, 4, generator=numbers)
    return TensorDataset(x, torch.randint(0, 3, (len(x),), generator=numbers))


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


def by_hand(net, data):
    """The trained weights, of a copy."""
    net = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in DataLoader(data, BATCH):
        optimizer.zero_grad()
        functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return net.state_dict()


def with_lightning(net, data, folder, callbacks=()):
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net

        def training_step(self, batch, index):
            x, y = batch
            return functional.cross_entropy(self.net(x), y)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = lightning.Trainer(
        max_epochs=1,
        callbacks=list(callbacks),
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.fit(Module(), DataLoader(data, BATCH))


def with_accelerate(net, data, folder):
    accelerator = accelerate.Accelerator(cpu=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    model, optimizer, batches = accelerator.prepare(net, optimizer, DataLoader(data, BATCH))
    for x, y in batches:
        optimizer.zero_grad()
        accelerator.backward(functional.cross_entropy(model(x), y))
        optimizer.step()


def with_transformers(net, data, folder, callbacks=()):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x, labels):
            return {"loss": functional.cross_entropy(self.net(x), labels)}

    trainer = transformers.Trainer(
        Model(),
        transformers.TrainingArguments(
            output_dir=str(folder),
            per_device_train_batch_size=BATCH,
            num_train_epochs=1,
            learning_rate=0.1,
            lr_scheduler_type="constant",
            optim="sgd",
            max_grad_norm=0.0,
            train_sampling_strategy="sequential",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        ),
        train_dataset=[{"x": x, "labels": y} for x, y in data],
        callbacks=list(callbacks),
    )
    trainer.train()


TRAINERS = [with_lightning, with_accelerate, with_transformers]


@pytest.mark.parametrize("trained", TRAINERS)
def test_under_use_the_weights_are_those_of_a_loop_by_hand(trained, net, data, tmp_path):
    before = copy.deepcopy(net.state_dict())
    with surrogate.override("torch", RULES):
        expected = by_hand(net, data)
    installed = surrogate.use("torch", RULES)
    try:
        trained(net, data, tmp_path)
    finally:
        installed.undo()
    assert all(torch.equal(value, expected[name]) for name, value in net.state_dict().items())
    assert not torch.equal(before["first.weight"], expected["first.weight"])
    assert installed.hits["sign"] == STEPS


@pytest.mark.parametrize("trained", TRAINERS)
def test_an_attached_module(trained, net, data, tmp_path):
    with surrogate.override("torch", RULES):
        expected = by_hand(net, data)
    attached = surrogate_torch.attach(net, RULES)
    trained(net, data, tmp_path)
    attached.undo()
    assert all(torch.equal(value, expected[name]) for name, value in net.state_dict().items())


@pytest.mark.parametrize("trained", TRAINERS)
def test_without_a_rule_the_first_layer_stays(trained, net, data, tmp_path):
    before = copy.deepcopy(net.state_dict())
    trained(net, data, tmp_path)
    assert torch.equal(net.first.weight, before["first.weight"])
    assert not torch.equal(net.last.weight, before["last.weight"])


def on_the_page(library, slope):
    """The callback class of the page about annealing, as it stands there."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "anneal.md").read_text()
    (block,) = (code for code in re.findall(r"```py\n(.*?)```", page, re.DOTALL) if f"({library}." in code)
    names = {"lightning": lightning, "transformers": transformers, "slope": slope}
    exec(block, names)
    return names["Anneal"]


@pytest.mark.parametrize(
    ("trained", "library"), [(with_lightning, "lightning"), (with_transformers, "transformers")]
)
def test_a_variable_is_annealed_by_the_callback_of_the_page(trained, library, net, data, tmp_path):
    """Each step runs under the value of the schedule: the weights are those of constant widths in turn."""
    widths = (0.25, 0.5, 1.0, 2.0)
    expected = copy.deepcopy(net)
    optimizer = torch.optim.SGD(expected.parameters(), lr=0.1)
    for width, (x, y) in zip(widths, DataLoader(data, BATCH), strict=True):
        optimizer.zero_grad()
        with surrogate.override("torch", {"sign": f"hardtanh(width={width})"}):
            functional.cross_entropy(expected(x), y).backward()
        optimizer.step()
    slope = surrogate.Variable(8.0)
    slope.follow(lambda step: widths[step - 1])
    with surrogate.override("torch", {"sign": surrogate.gradient("sign", "hardtanh", width=slope)}):
        trained(net, data, tmp_path, callbacks=[on_the_page(library, slope)()])
    assert slope.value == widths[-1]
    for name, value in expected.state_dict().items():
        assert torch.equal(net.state_dict()[name], value)
