"""Vectors made on a GPU are those of a CPU but for rounding; linkers learn on one."""

import numpy as np
import pytest

from tempkb.models.linking.checkpoints import read_layout
from tempkb.models.linking.encoders import load_layout
from tempkb.models.training.teaching import teach
from tempkb_tests.models.linking.lessons import lesson
from tempkb_tests.models.linking.test_encoders import texts
from tempkb_tests.models.linking.tiny import save_encoder

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.05)])
def test_vectors_are_those_of_the_cpu(tmp_path, dtype, tolerance):
    save_encoder(tmp_path / "one", "bert", "mean", towers=2)
    layout = read_layout(str(tmp_path / "one"))
    mentions, entities = texts(300)
    encoder, on_cpu = load_layout(layout, "cuda", dtype, 512), load_layout(layout, "cpu")
    assert encoder.device.type == "cuda"
    for ours, expected in (
        (encoder.mentions(mentions), on_cpu.mentions(mentions)),
        (encoder.entities(entities), on_cpu.entities(entities)),
    ):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, expected, atol=tolerance, rtol=0)
        assert np.abs(expected).max() > 0.1
        # Each has the vector of its own text, and not of another one.
        assert ((ours @ expected.T).argmax(axis=1) == (expected @ expected.T).argmax(axis=1)).mean() > 0.9


def test_a_linker_learns_on_a_gpu_as_on_a_cpu(tmp_path):
    one = lesson(n_train=960, epochs=3, dropout=0.0)
    courses = []
    for n_gpus in (0, 1):
        folder = tmp_path / str(n_gpus)
        folder.mkdir()
        courses.append(teach(one, folder, print, n_gpus)[1])
    on_cpu, on_gpu = courses
    assert on_gpu.steps == on_cpu.steps == 180
    # The same beginning, examples and batches; from then on, the rounding of bfloat16 adds up.
    np.testing.assert_allclose(
        [loss for _, loss in on_gpu.losses[:5]], [loss for _, loss in on_cpu.losses[:5]], rtol=0.02
    )
    assert on_cpu.validation[-1][1] > 0.8
    assert on_gpu.validation[-1][1] > 0.8
