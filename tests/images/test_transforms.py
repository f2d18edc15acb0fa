"""Each transformation: identity, shapes, broadcasting, gradients, a plain reference, its group."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy import ndimage

from kindset.exceptions import InputError
from kindset.images import TRANSFORMATIONS, Transformation, register_transformation
from kindset.images._transforms import pixel_positions, transformation_classes
from kindset.images._window import window_sums

NAMES = ["affine", "projective", "tps", "colour", "morphological"]
WARPS = ["affine", "projective", "tps"]
SHAPES = [(1, 12, 9), (3, 16, 16), (1, 1, 7)]


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def parameters_of(module, n_samples, n_images, size=0.1, seed=1):
    noise = draw(n_samples, n_images, module.n_parameters, seed=seed) - 0.5
    return module.identity + size * noise


def smooth(shape, seed=0):
    return torch.from_numpy(
        ndimage.gaussian_filter(draw(*shape, seed=seed).numpy(), (0, 0, 2, 2), mode="nearest")
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_identity_at_zero(name, shape):
    module = TRANSFORMATIONS[name](shape)
    images = draw(4, *shape)
    out = module(images, module.identity.expand(3, 4, -1))
    assert module.identity.shape == (module.n_parameters,)
    assert out.shape == (3, 4, *shape)
    if name == "morphological":  # which lets a little of the neighbours through, or could not learn
        (height, width), leak = module.sides, 1 / (1 + np.exp(5))
        blurred = ndimage.uniform_filter(images.double(), (0, 0, height, width), mode="constant")
        count = ndimage.uniform_filter(np.ones(shape[1:]), (height, width), mode="constant")
        size = height * width
        images = (1 - 2 * leak) * images + leak * size * torch.from_numpy(blurred)
        images /= torch.from_numpy(1 - 2 * leak + leak * size * count)
    assert (out - images).abs().max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_pairs_are_independent(name, shape):
    """All samples at once, one by one, and with an image for each sample give the same."""
    module = TRANSFORMATIONS[name](shape)
    images, values = draw(3, *shape), parameters_of(module, 5, 3)
    whole = module(images, values)
    per_sample = module(images.expand(5, -1, -1, -1, -1).contiguous(), values)
    np.testing.assert_allclose(per_sample, whole, atol=2e-6)
    for b in range(5):
        for k in range(3):
            one = module(images[k : k + 1], values[b : b + 1, k : k + 1])
            np.testing.assert_allclose(one[0, 0], whole[b, k], atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_by_finite_differences(name):
    shape = (2, 8, 6)
    module = TRANSFORMATIONS[name](shape).double()
    images = smooth((2, *shape)).double().requires_grad_()
    values = parameters_of(module, 3, 2, size=0.07).double().requires_grad_()
    # Bilinear sampling has kinks at the pixels, so positions stay clear of them: no step is large.
    assert torch.autograd.gradcheck(
        module, (images, values), eps=1e-7, atol=1e-4, rtol=1e-3, nondet_tol=1e-12
    )


def positions(module, values):
    """Return the positions (row, column) in pixels at which a warp reads, for one sample."""
    _, height, width = module.image_shape
    x, y = module.points(values[None]).view(2, height, width).numpy()
    return np.stack([((y + 1) * height - 1) / 2, ((x + 1) * width - 1) / 2])


@pytest.mark.parametrize("name", WARPS)
def test_warps_agree_with_scipy(name):
    shape = (2, 14, 11)
    module = TRANSFORMATIONS[name](shape)
    image, values = draw(1, *shape), parameters_of(module, 4, 1, size=0.3)
    out = module(image, values)
    for b in range(4):
        where = positions(module, values[b, 0])
        for c in range(2):
            expected = ndimage.map_coordinates(image[0, c].numpy(), where, order=1, mode="nearest")
            np.testing.assert_allclose(out[b, 0, c], expected, atol=1e-5)


def test_affine_positions_are_plain_products():
    module = TRANSFORMATIONS["affine"]((1, 5, 4))
    theta = torch.tensor([[1.1, 0.2, -0.3], [0.1, 0.9, 0.05]])
    x, y = module.points(theta.flatten()[None])[0]
    for i in range(5):
        for j in range(4):
            centre = torch.tensor([(2 * j + 1) / 4 - 1, (2 * i + 1) / 5 - 1, 1.0])
            np.testing.assert_allclose([x[4 * i + j], y[4 * i + j]], theta @ centre, atol=1e-6)


def test_projective_positions_are_ratios():
    module = TRANSFORMATIONS["projective"]((1, 4, 4))
    values = parameters_of(module, 1, 1, size=0.4)[0]
    mapped = values.view(3, 3) @ pixel_positions((1, 4, 4))
    np.testing.assert_allclose(module.points(values)[0], mapped[:2] / mapped[2], atol=1e-6)


def test_projective_beyond_the_horizon_stays_finite():
    module = TRANSFORMATIONS["projective"]((1, 8, 8))
    values = torch.tensor([1.0, 0, 0, 0, 1, 0, 2, 2, 0]).expand(1, 1, -1)
    assert torch.isfinite(module(draw(1, 1, 8, 8), values)).all()


def test_spline_moves_its_control_points_there():
    """At a control point the move is the parameter; an affine move of all is that map."""
    module = TRANSFORMATIONS["tps"]((1, 4, 4))
    # The pixel centres of a 4 x 4 image lie at 3/4 of the control points.
    line = torch.linspace(-1, 1, 4)
    control = torch.cartesian_prod(line, line).flip(1)
    matrix, shift = torch.tensor([[0.2, -0.1], [0.05, 0.3]]), torch.tensor([0.1, -0.2])
    moves = control @ matrix.T + shift
    points = module.points(moves.T.reshape(1, -1))[0]
    plain = module.pixels[:2]
    np.testing.assert_allclose(points, plain + matrix @ plain + shift[:, None], atol=1e-5)


def test_spline_agrees_with_scipy():
    from scipy.interpolate import RBFInterpolator

    module = TRANSFORMATIONS["tps"]((1, 9, 7))
    line = np.linspace(-1, 1, 4)
    control = np.array([(x, y) for y in line for x in line])
    moves = draw(2, 16, seed=3).numpy() - 0.5
    expected = RBFInterpolator(control, moves.T, kernel="thin_plate_spline", degree=1)(
        module.pixels[:2].T.numpy()
    )
    points = module.points(torch.from_numpy(moves).reshape(1, -1))[0]
    np.testing.assert_allclose(points - module.pixels[:2], expected.T, atol=1e-4)


def test_colour_is_gain_and_offset_by_channel():
    module = TRANSFORMATIONS["colour"]((3, 4, 4))
    image = draw(1, 3, 4, 4)
    values = torch.tensor([1.0, 2, 3, 0.1, 0.2, 0.3]).expand(1, 1, -1)
    for c in range(3):
        np.testing.assert_allclose(
            module(image, values)[0, 0, c], image[0, c] * (c + 1) + 0.1 * (c + 1), atol=1e-6
        )


def plain_morphology(image, strength, window):
    """Equation 6, pixel by pixel; pixels beyond the border do not take part."""
    height, width = image.shape
    rows, columns = (side // 2 for side in window.shape)
    out = np.empty_like(image)
    for i in range(height):
        for j in range(width):
            above = below = 0.0
            for u in range(-rows, rows + 1):
                for v in range(-columns, columns + 1):
                    if 0 <= i + u < height and 0 <= j + v < width:
                        x = image[i + u, j + v]
                        weight = window[u + rows, v + columns] * np.exp(strength * x)
                        above, below = above + weight * x, below + weight
            out[i, j] = above / below
    return out


@pytest.mark.parametrize("shape", [(2, 10, 9), (1, 28, 28)])
def test_morphology_agrees_with_loops(shape):
    module = TRANSFORMATIONS["morphological"](shape)
    image = draw(1, *shape)
    values = parameters_of(module, 3, 1, size=6.0)
    out = module(image, values)
    for b in range(3):
        window = torch.sigmoid(values[b, 0, 1:]).view(module.sides).double().numpy()
        for c in range(shape[0]):
            expected = plain_morphology(
                image[0, c].double().numpy(), float(values[b, 0, 0]), window
            )
            np.testing.assert_allclose(out[b, 0, c], expected, atol=1e-5)


@pytest.mark.parametrize(("strength", "filter_"), [
    (200.0, ndimage.grey_dilation), (-200.0, ndimage.grey_erosion),
])  # fmt: skip
def test_strong_morphology_is_dilation_or_erosion(strength, filter_):
    module = TRANSFORMATIONS["morphological"]((1, 12, 12))
    image = (4 * draw(1, 1, 12, 12)).round() / 4
    values = torch.full((1, 1, module.n_parameters), 10.0)
    values[..., 0] = strength
    expected = filter_(image[0, 0].numpy(), size=module.sides, mode="nearest")
    np.testing.assert_allclose(module(image, values)[0, 0, 0], expected, atol=1e-4)


def test_window_sums_agree_with_torch():
    images, weights = draw(5, 9, 6), draw(5, 7, 7, seed=2)
    expected = torch.nn.functional.conv2d(images[None], weights[:, None], padding=3, groups=5)[0]
    np.testing.assert_allclose(window_sums(images, weights), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["affine", "projective"])
def test_maps_compose(name):
    """Two maps one after the other are the product of their matrices."""
    module, image = TRANSFORMATIONS[name]((1, 32, 32)), patch()
    first, second = (parameters_of(module, 1, 1, size=0.15, seed=seed) for seed in (1, 2))
    in_turn = module(module(image, first), second)
    both = as_matrix(first) @ as_matrix(second)
    at_once = module(image, both.flatten()[: module.n_parameters].view(1, 1, -1))
    assert (in_turn - at_once).abs().max() < 0.03


@pytest.mark.parametrize("name", ["affine", "projective", "colour"])
def test_inverse_undoes(name):
    module, image = TRANSFORMATIONS[name]((1, 32, 32)), patch()
    there = parameters_of(module, 1, 1, size=0.15)
    if name == "colour":
        gain, offset = there[0, 0]
        back = torch.stack([1 / gain, -offset / gain]).view(1, 1, -1)
    else:
        back = torch.linalg.inv(as_matrix(there)).flatten()[: module.n_parameters].view(1, 1, -1)
    assert (module(module(image, there), back)[0, 0] - image[0]).abs().max() < 0.03


def as_matrix(values):
    rows = values.flatten()
    return torch.cat([rows, torch.tensor([0.0, 0, 1])])[:9].view(3, 3)


def patch():
    """Return a smooth picture that leaves the border of a 32 x 32 image dark."""
    image = np.zeros((1, 1, 32, 32), dtype=np.float32)
    image[..., 10:22, 10:22] = smooth((1, 1, 12, 12)).numpy()
    return torch.from_numpy(ndimage.gaussian_filter(image, (0, 0, 2, 2)))


def test_kernels_are_compiled_before_a_training_needs_them():
    """In a process of its own, where nothing is compiled yet."""
    program = """
from kindset.images import _kernels, _window
_window.compile_kernels()
print([len(one.signatures) for one in (_kernels.window_sums, _kernels.window_correlations)])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[1, 1]"


@pytest.mark.parametrize("name", NAMES)
def test_effort_is_the_squared_difference_from_the_identity(name):
    """Only what moves pixels takes any."""
    module = TRANSFORMATIONS[name]((3, 12, 14))
    values = parameters_of(module, 4, 2)
    expected = ((values - module.identity) ** 2).mean(dim=-1) * module.moves_pixels
    np.testing.assert_allclose(module.effort(values), expected, rtol=1e-5)
    assert not module.effort(module.identity.expand(4, 2, -1)).any()


def test_small_images_have_small_windows():
    sides = [TRANSFORMATIONS["morphological"]((1, n, n)).sides for n in (1, 8, 16, 28, 64)]
    assert sides == [(1, 1), (3, 3), (5, 5), (7, 7), (7, 7)]


def test_registering():
    class Mirror(Transformation):
        def __init__(self, image_shape):
            super().__init__(image_shape, torch.zeros(1))

        def forward(self, images, parameters):
            share = torch.sigmoid(parameters)[..., None, None]
            return (1 - share) * images + share * images.flip(-1)

    register_transformation("mirror", Mirror)
    try:
        assert transformation_classes(["mirror", "affine"])[0] is Mirror
    finally:
        del TRANSFORMATIONS["mirror"]


def test_wrong_names():
    with pytest.raises(InputError, match="names among 'affine'"):
        transformation_classes(["afine"])
    with pytest.raises(InputError, match="twice"):
        transformation_classes(["affine", "affine"])
    with pytest.raises(InputError, match="subclass of Transformation"):
        register_transformation("nothing", dict)
