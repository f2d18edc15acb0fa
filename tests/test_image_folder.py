import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from kindset.datasets import _image_folder as module
from kindset.datasets import load_image_folder
from kindset.exceptions import InputError


def save(path, array, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array, dtype=np.uint8)).save(path, **options)


@pytest.fixture
def ramp():
    """A grey picture that is darker at the left."""
    return np.tile(np.arange(0, 240, 20, dtype=np.uint8), (8, 1))


def test_grey_pictures_stay_grey(tmp_path, ramp):
    save(tmp_path / "b.png", ramp)
    save(tmp_path / "a.jpg", ramp, quality=95)
    save(tmp_path / "c.webp", np.dstack([ramp] * 3), lossless=True)
    data = load_image_folder(tmp_path)
    assert data.names == ["a.jpg", "b.png", "c.webp"]
    assert data.images.shape == (3, 8, 12)
    assert data.images.dtype == np.uint8
    np.testing.assert_array_equal(data.images[1], ramp)
    np.testing.assert_array_equal(data.images[2], ramp)
    np.testing.assert_allclose(data.images[0].astype(int), ramp, atol=6)
    assert data.target is None
    assert data.skipped == []


def test_colour_is_kept_if_there_is_any(tmp_path, ramp):
    red = np.zeros((8, 12, 3))
    red[..., 0] = 200
    save(tmp_path / "grey.png", ramp)
    save(tmp_path / "red.png", red)
    assert load_image_folder(tmp_path).images.shape == (2, 8, 12, 3)
    grey = load_image_folder(tmp_path, mode="grey").images
    np.testing.assert_array_equal(grey[1], np.full((8, 12), 60))  # 0.299 of 200
    colour = load_image_folder(tmp_path, mode="colour").images
    np.testing.assert_array_equal(colour[1], red)


def test_camera_rotation_and_transparency(tmp_path, ramp):
    turned = Image.fromarray(np.rot90(ramp).copy())
    exif = turned.getexif()
    exif[0x0112] = 6  # to be turned by 90 degrees to the right
    turned.save(tmp_path / "turned.png", exif=exif)
    see_through = np.zeros((8, 12, 4))
    see_through[:, :6, 3] = 255
    save(tmp_path / "through.png", see_through)
    data = load_image_folder(tmp_path, mode="grey")
    np.testing.assert_array_equal(data.images[0][:, :6], 0)
    np.testing.assert_array_equal(data.images[0][:, 6:], 255)
    np.testing.assert_array_equal(data.images[1], ramp)


def test_sixteen_bits(tmp_path):
    Image.fromarray(np.full((4, 4), 40_000, dtype=np.uint16)).save(tmp_path / "deep.png")
    assert (load_image_folder(tmp_path).images == 40_000 // 257).all()


def test_resize_squeezes_or_crops(tmp_path):
    wide = np.zeros((10, 30))
    wide[:, 10:20] = 255
    save(tmp_path / "wide.png", wide)
    squeezed = load_image_folder(tmp_path, size=10).images[0]
    assert squeezed.shape == (10, 10)
    assert squeezed[:, 0].max() < 20
    cropped = load_image_folder(tmp_path, size=10, crop=True).images[0]
    assert (cropped == 255).all()
    assert load_image_folder(tmp_path, size=(5, 15)).images.shape == (1, 5, 15)


def test_folders_are_known_labels(tmp_path, ramp):
    for name in ("cats/1.png", "cats/2.png", "dogs/big/1.png"):
        save(tmp_path / name, ramp)
    data = load_image_folder(tmp_path)
    assert data.target.tolist() == ["cats", "cats", "dogs/big"]


def test_what_cannot_be_read_is_listed(tmp_path, ramp):
    save(tmp_path / "good.png", ramp)
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.jpg").write_text("not a picture")
    whole = (tmp_path / "good.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "notes.txt").write_text("no matter")
    (tmp_path / ".hidden.png").write_text("no matter")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "linked.png").symlink_to(tmp_path / "good.png")
    data = load_image_folder(tmp_path)
    assert data.names == ["good.png", "linked.png"]
    assert [name for name, _ in data.skipped] == ["cut.png", "empty.png", "gone.png", "text.jpg"]
    assert dict(data.skipped)["text.jpg"] == "it is not an image, or damaged"


def test_only_the_formats_we_name(tmp_path, ramp):
    """Pillow would start a program to read some others, whatever the file is called."""
    save(tmp_path / "good.png", ramp)
    Image.fromarray(ramp).save(tmp_path / "drawing.eps")
    (tmp_path / "drawing.eps").rename(tmp_path / "drawing.png")
    assert load_image_folder(tmp_path).skipped == [
        ("drawing.png", "it is not an image, or damaged")
    ]


def test_bombs_are_not_decoded(tmp_path, ramp, monkeypatch):
    save(tmp_path / "good.png", ramp)
    Image.new("1", (2000, 2000)).save(tmp_path / "bomb.png")
    monkeypatch.setattr(module, "_MAX_PIXELS", 1_000_000)
    (skipped,) = load_image_folder(tmp_path).skipped
    assert skipped == ("bomb.png", "2000 x 2000 pixels are too many")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(InputError, match="too many pixels"):
        load_image_folder(_only(tmp_path, "bomb.png"), size=4)


def _only(folder, name):
    alone = folder / "alone"
    alone.mkdir()
    os.link(folder / name, alone / name)
    return alone


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size=0 must be"),
        ({"size": (3, 4, 5)}, "must be"),
        ({"mode": "sepia"}, "mode='sepia' is unknown; choose one of auto, grey, colour"),
    ],
)
def test_wrong_options(tmp_path, ramp, options, message):
    save(tmp_path / "a.png", ramp)
    with pytest.raises(InputError, match=message):
        load_image_folder(tmp_path, **options)


def test_wrong_folders(tmp_path, ramp):
    with pytest.raises(InputError, match="there is no folder"):
        load_image_folder(tmp_path / "none")
    with pytest.raises(InputError, match=r"holds no \.png"):
        load_image_folder(tmp_path)
    (tmp_path / "a.png").touch()
    with pytest.raises(InputError, match=r"no image .* the first, a\.png: it is not an image"):
        load_image_folder(tmp_path)
    save(tmp_path / "b.png", ramp)
    save(tmp_path / "c.png", ramp[:4])
    with pytest.raises(InputError, match=r"2 different sizes \(12 x 8 \(1\), 12 x 4 \(1\)\)"):
        load_image_folder(tmp_path)


def test_too_much_for_the_memory(tmp_path, ramp, monkeypatch):
    save(tmp_path / "a.png", ramp)
    monkeypatch.setattr(module, "_MAX_BYTES", 100)
    with pytest.raises(InputError, match="smaller size"):
        load_image_folder(tmp_path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_damage_is_read_or_listed(tmp_path, ramp, data):
    suffix = data.draw(st.sampled_from([".png", ".jpg", ".webp"]))
    file = tmp_path / f"a{suffix}"
    save(file, ramp)
    whole = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(bytes(whole)[: data.draw(st.integers(0, len(whole)))])
    save(tmp_path / "sound.png", ramp)
    found = load_image_folder(tmp_path, size=8)
    assert len(found.names) + len(found.skipped) == len(list(tmp_path.iterdir()))
    for path in tmp_path.iterdir():
        path.unlink()
